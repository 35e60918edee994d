// The sampler chain of one sequence: samplers in the order the request names, then the draw.
//
// The order is data: "top_k;top_p;min_p;temperature" (sampling/order.h). Samplers whose parameters are neutral are left
// out. The draw is a pure function of the candidates and of the place (Philox): the first candidate in canonical order
// at which the cumulative probability reaches the random number. With `rng` mt19937 the numbers and the order in which
// they are spent are llama.cpp's.
//
// What a chain remembers is the history (prompt and accepted tokens) and, after each of them, the few numbers of its
// controllers. `select` changes none of that, `accept` appends to it; so a copy is an exact fork, `roll_back` to any
// earlier length is exact, and `save` and `restore` carry it through a file. It takes four bytes a token and eight a
// remembered number, whatever the vocabulary; the candidates are the caller's, one workspace a thread.
// Tested by tests/sampling/test_chain.cpp, test_chain_state.cpp and the golden cases.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json_forward.h"
#include "base/philox.h"
#include "sampling/sampler.h"

namespace plm {

/// The chosen token, in the distribution that the chain left. (In the model's own distribution: log_probabilities.h.)
struct Selection {
  std::int32_t id;
  double probability;
  double log_probability;       ///< natural
  std::size_t candidates_left;  ///< from which it was drawn, masked ones not counted
  double random = 0;            ///< the number of the draw, in [0, 1)
};

/// The order, the profile, the random numbers and the parameters of every sampler, each name once. For one Settings of
/// a request.
[[nodiscard]] std::span<const Parameter> sampling_parameters();

/// Listens while a chain works on one token.
class ChainObserver {
 public:
  virtual ~ChainObserver() = default;
  /// Before the first sampler.
  virtual void begins(Candidates& candidates) = 0;
  /// After each sampler that acts; `state` are the numbers that it remembered before.
  virtual void applied(std::string_view sampler, std::span<const double> state, Candidates& candidates) = 0;
};

class Chain {
 public:
  /// Reads the order and every value from settings that hold `sampling_parameters()`. `texts` must outlive the chain.
  /// Errors (usage): an unknown sampler, with the known ones; a value that a sampler refuses.
  static Result<Chain> create(const Settings& settings, const TokenTexts& texts = unknown_texts());

  /// Starts over, with this prompt as history.
  void begin(std::span<const std::int32_t> prompt);

  /// Chooses the token at `place` from one row of logits [vocabulary]. `workspace` is scratch that calls may share.
  /// Errors, naming the position: NaN or +inf logits, no logits (failed); every token masked (unsatisfiable), by the
  /// network or by a sampler that is named. `observer`, if any, is told what happens.
  Result<Selection> select(std::span<const float> logits, const DrawPlace& place, Candidates& workspace,
                           ChainObserver* observer = nullptr);
  /// Appends a token to the history. Controllers learn from it if it is the one that the last `select` chose; a token
  /// that came from elsewhere leaves them as they were.
  void accept(std::int32_t id);
  /// Forgets what was accepted after the history had this length, which is not below the prompt's.
  void roll_back(std::size_t length);

  [[nodiscard]] const History& history() const { return history_; }
  /// What controllers remember now, in the order of the chain.
  [[nodiscard]] std::span<const double> state() const;

  /// Everything remembered, exactly. A token that was selected and not yet accepted is no part of it.
  [[nodiscard]] Json save() const;
  /// Takes up what a chain of the same samplers and values saved. Error (bad_input): of another chain, or not a state;
  /// the chain is then as before.
  Result<void> restore(const Json& saved);

  /// Whether the choice is always the greatest logit's first token, so that the device need only find that.
  [[nodiscard]] bool is_greedy() const;

  /// For the recipe: the samplers that act, in order, each with its values.
  [[nodiscard]] const Json& describe() const;
  /// What was asked for and does not act as asked: ignored, clamped, replaced. One sentence each.
  [[nodiscard]] std::span<const std::string> warnings() const;

 private:
  struct Step;
  struct Policy;  // what never changes, shared by all forks
  static constexpr std::int32_t kNone = -1;

  Result<void> apply(Candidates& candidates, const DrawPlace& place, ChainObserver* observer);
  [[nodiscard]] std::size_t state_size() const;
  [[nodiscard]] MersenneNumbers numbers(std::size_t stream, const DrawPlace& place);
  [[nodiscard]] SampleContext context(std::size_t step, const DrawPlace& place);
  Candidates::Pick draw(Candidates& candidates, const DrawPlace& place, double& random);

  std::shared_ptr<const Policy> policy_;
  History history_;
  std::vector<double> states_;  // after the prompt and after each token accepted since: state_size() numbers each
  std::vector<double> proposed_state_;
  std::int32_t proposed_ = kNone;        // the token with which it becomes the state
  std::vector<MersenneStream> streams_;  // with mt19937: one a step, the last for the draw
};

}  // namespace plm
