#include "search/verifier_value.h"

#include <cmath>

namespace plm {

double pass_at(double right, std::size_t count) { return 1 - std::pow(1 - right, static_cast<double>(count)); }

double accuracy_with(const VerifierRates& rates, double right, std::size_t count) {
  const double accepted = right * rates.true_positive + (1 - right) * rates.false_positive;
  if (accepted == 0) return right;
  const double none = std::pow(1 - accepted, static_cast<double>(count));
  const double right_of_rejected = accepted < 1 ? right * (1 - rates.true_positive) / (1 - accepted) : 0.0;
  return (1 - none) * right * rates.true_positive / accepted + none * right_of_rejected;
}

double best_of_divergence(std::size_t count) {
  const auto n = static_cast<double>(count);
  return std::log(n) - (n - 1) / n;
}

}  // namespace plm
