// The sampler chain of one sequence: samplers in the order the request names, then the draw.
//
// The order is data: "top_k;top_p;min_p;temperature". Samplers whose parameters are neutral are left out. The draw is
// a pure function of the candidates and of the place (Philox): the first candidate in canonical order at which the
// cumulative probability reaches the random number.
// Tested by tests/sampling/test_chain.cpp, also against the golden cases.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
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
};

/// `samplers` (the order) and the parameters of every sampler, each name once. For one Settings of a request.
[[nodiscard]] std::span<const Parameter> sampling_parameters();

class Chain {
 public:
  /// Reads the order and every value from settings that hold `sampling_parameters()`.
  /// Error (usage): an unknown sampler, with the known ones.
  static Result<Chain> create(const Settings& settings);

  /// Chooses the token at `place` from one row of logits [vocabulary]. `workspace` is scratch that calls may share.
  /// Errors, naming the position: NaN or +inf logits, no logits (failed); every token masked (unsatisfiable).
  Result<Selection> select(std::span<const float> logits, const DrawPlace& place, Candidates& workspace);

  /// Whether the choice is always the greatest logit's first token, so that the device need only find that.
  [[nodiscard]] bool is_greedy() const;

  /// For the recipe: the samplers that act, in order, each with its values.
  [[nodiscard]] const Json& describe() const { return *description_; }

 private:
  std::vector<std::unique_ptr<Sampler>> samplers_;
  std::shared_ptr<const Json> description_;
};

}  // namespace plm
