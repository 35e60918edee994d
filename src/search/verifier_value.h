// What drawing N candidates can buy: the ceiling, what a verifier that errs makes of it, and how far best-of-N moves
// from the model's own distribution. Datasheet 40. Tested by tests/search/test_verifier_value.cpp.
#pragma once

#include <cstddef>

namespace plm {

/// The share of problems of which at least one of `count` candidates is right, each with probability `right`.
[[nodiscard]] double pass_at(double right, std::size_t count);

/// How often a verifier says yes: to right and to wrong candidates.
struct VerifierRates {
  double true_positive = 1, false_positive = 0;
};
/// The probability that the chosen candidate is right: one of those accepted, at random; if none is, any.
[[nodiscard]] double accuracy_with(const VerifierRates& rates, double right, std::size_t count);

/// The KL divergence of best-of-N's texts from the model's, at most: ln N - (N - 1) / N, in nats.
[[nodiscard]] double best_of_divergence(std::size_t count);

}  // namespace plm
