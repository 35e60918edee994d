// How long a page becomes when the model is asked (`length auto`): how many cells it opens with, what a pass says about
// the room that is missing, and what may still be added. The cells themselves are Page's.
//
// Rules, by `length_rule`:
//  expand   DAEDAL (arXiv 2508.00819): the page grows while its last open positions do not say that the text ends
//           there; later the most doubtful position is given more room, as long as the end is not certain.
//  predict  One pass over the longest page; what lies behind the first place where the text ends is cut off.
//  grow     A block at a time, until the text ends in one.
//  tokens   The model proposes tokens that mean two positions, or none (DreamOn; diffusion.expand_token_id).
// It ends: cells are added at most so often as there are cells asked for, and a page never has more than those.
// Tested by tests/decode/test_page_length.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "decode/decoder.h"

namespace plm {

class PageLength {
 public:
  enum class Rule : std::uint8_t { fixed, expand, predict, grow, tokens };

  /// `job`, of whose canvas the given cells alone are there, says how many cells there may be. Errors (usage): the rule
  /// does not suit the model or the holes.
  static Result<PageLength> create(const DecodeJob& job);

  [[nodiscard]] Rule rule() const { return rule_; }
  /// Cells that a page or hole of at most `most` begins with.
  [[nodiscard]] std::size_t first(std::size_t most) const;
  /// Cells of a step of growth, at most those that are left; 0: there is no more room.
  [[nodiscard]] std::size_t step(std::size_t cells) const;
  /// Says that so many cells were added.
  void added(std::size_t count) { left_ -= count; }
  [[nodiscard]] std::size_t left() const { return left_; }

  /// Whether the pass before the first decision lets the page grow: `ends`: probability of an end token at the page's
  /// positions, in order.
  [[nodiscard]] bool is_too_short(std::span<const double> ends) const { return tail_of(ends) < end_at_first_; }
  /// Whether more room may be given while the page is being written.
  [[nodiscard]] bool is_end_uncertain(std::span<const double> ends) const { return tail_of(ends) < end_in_passes_; }
  /// Below this probability a position is given more room.
  [[nodiscard]] double doubt() const { return doubt_; }
  /// Cells that are wanted, by the rule `predict`: up to the first place from where on the text has ended.
  [[nodiscard]] std::size_t predicted(std::span<const double> ends) const;
  [[nodiscard]] std::size_t window() const { return window_; }

 private:
  [[nodiscard]] double tail_of(std::span<const double> ends) const;

  Rule rule_ = Rule::fixed;
  std::size_t most_ = 0;  // cells of the page
  std::size_t left_ = 0;  // that may still be added
  std::size_t start_ = 0, step_ = 0, window_ = 0;
  double end_at_first_ = 0, end_in_passes_ = 0, doubt_ = 0;
};

/// The parameters of `length auto`.
[[nodiscard]] std::span<const Parameter> length_parameters();

}  // namespace plm
