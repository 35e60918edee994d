// A page of tokens under a constraint, all at once: which tokens may stand where, the best valid page under the product
// of the network's distributions, exact draws from that product given validity.
//
// Forward and backward sums over (place, state) in three readings: possible, largest, and sum (log domain). After DINGO
// (arXiv 2505.23061), here with given tokens anywhere, the length counted, and exact marginals and draws.
// What must stay true: as long as every cell that is decided comes from one page of best() or sample(), the next
// lattice is not empty: a decision never leads into a dead end. Opening cells again only adds pages. Tested by
// tests/constraint/test_canvas_lattice.cpp, against every page of small vocabularies.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "constraint/canvas_automaton.h"

namespace plm {

/// One cell of the page: a token that stands there, or open, with the log-probabilities of all tokens ([vocabulary];
/// -inf: never) or without (then every token is as likely as another).
struct CanvasCell {
  TokenId token = kNoToken;
  std::span<const double> log_probabilities = {};
};

class CanvasLattice {
 public:
  CanvasLattice(std::shared_ptr<const CanvasAutomaton> automaton, std::span<const CanvasCell> cells);

  /// Whether any page fits.
  [[nodiscard]] bool is_possible() const { return best_[0][automaton_->start()] != kNever; }
  /// The page with the largest product, ties by the lower token; empty if none fits.
  [[nodiscard]] std::vector<TokenId> best() const;
  /// The logarithm of the product of best().
  [[nodiscard]] double best_log_probability() const { return best_[0][automaton_->start()]; }
  /// The share of all pages, weighted by the product, that fit: log p(valid).
  [[nodiscard]] double log_mass() const { return sum_[0][automaton_->start()]; }
  /// A page drawn from the product given that it fits; `uniform`: one number in [0, 1) a cell. Empty if none fits.
  [[nodiscard]] std::vector<TokenId> sample(std::span<const double> uniform) const;
  /// Log-probability of every token at a cell given that the page fits, [vocabulary]; -inf: not possible there.
  [[nodiscard]] std::vector<double> marginals(std::size_t cell) const;
  /// How many slots more the open cells must get together before a page fits; 0: it fits; nullopt: no number helps as
  /// far as the automaton reaches.
  [[nodiscard]] std::optional<std::size_t> missing_slots() const;

 private:
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
  using State = CanvasAutomaton::State;

  void weigh(std::size_t cell);
  void look_back(std::size_t cell);
  void look_ahead(std::size_t cell);
  [[nodiscard]] TokenId draw_token(std::size_t cell, std::uint32_t tokens, double uniform) const;
  [[nodiscard]] bool is_open(std::size_t cell) const { return cells_[cell].token == kNoToken; }

  std::shared_ptr<const CanvasAutomaton> automaton_;
  std::vector<CanvasCell> cells_;
  // [cell, class]: the largest and the sum of a class's log-probabilities, and the token of the largest.
  std::vector<std::vector<double>> class_best_, class_sum_;
  std::vector<std::vector<TokenId>> class_token_;
  // [cell, state]: of what stands behind, of what stands before.
  std::vector<std::vector<double>> best_, sum_, before_;
};

}  // namespace plm
