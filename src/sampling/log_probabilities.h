// Log-probabilities of one row of raw logits: logit - ln(sum of e^logit), the model's own distribution.
//
// Used by scoring and wherever a token's probability before the chain is asked for. The exponentials are float32
// (within 1e-7), the sum and the logarithm double: the error is below what rounding the logits to float32 has cost
// already. Tested by tests/sampling/test_log_probabilities.cpp against long double.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace plm {

struct TokenLogProbability {
  std::int32_t id;
  double log_probability;  ///< natural; -inf for a masked token
};

class LogProbabilities {
 public:
  /// Of one row [vocabulary], which must outlive the object.
  /// Errors: no logits, NaN, +inf (failed); every token masked (unsatisfiable).
  static Result<LogProbabilities> of(std::span<const float> logits);

  /// Of one token, 0 <= id < vocabulary.
  [[nodiscard]] double of_token(std::int32_t id) const;

  /// The Kullback-Leibler divergence D(this || other) in nat, other's row being as long: what is lost on average where
  /// tokens of this distribution are told with the other one. Infinite where the other masks what this one does not.
  [[nodiscard]] double divergence_from(const LogProbabilities& other) const;

  /// The likeliest `count` tokens, equals by lower id first; fewer when the vocabulary is smaller.
  [[nodiscard]] std::vector<TokenLogProbability> top(std::size_t count) const;

 private:
  LogProbabilities(std::span<const float> logits, double log_sum) : logits_(logits), log_sum_(log_sum) {}

  std::span<const float> logits_;
  double log_sum_;  // ln of the sum of e^logit
};

}  // namespace plm
