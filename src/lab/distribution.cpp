#include "lab/distribution.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace plm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double sum_of(std::span<const double> numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

}  // namespace

std::vector<double> softmax(std::span<const double> logits) {
  const double most = logits.empty() ? -kInfinity : *std::ranges::max_element(logits);
  if (most == -kInfinity) return {};
  std::vector<double> probabilities;
  for (const double logit : logits) probabilities.push_back(std::exp(logit - most));
  const double sum = sum_of(probabilities);
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

double entropy(std::span<const double> probabilities) {
  double sum = 0;
  for (const double p : probabilities) {
    if (p > 0) sum -= p * std::log(p);
  }
  return sum;
}

double entropy_of_logits(std::span<const double> logits) { return entropy(softmax(logits)); }

double varentropy(std::span<const double> probabilities) {
  const double mean = entropy(probabilities);
  double sum = 0;
  for (const double p : probabilities) {
    if (p > 0) sum += p * (-std::log(p) - mean) * (-std::log(p) - mean);
  }
  return sum;
}

std::optional<double> normalised_entropy(std::span<const double> probabilities) {
  if (probabilities.size() < 2) return std::nullopt;
  return entropy(probabilities) / std::log(static_cast<double>(probabilities.size()));
}

std::size_t support_size(std::span<const double> probabilities) {
  return static_cast<std::size_t>(std::ranges::count_if(probabilities, [](double p) { return p > 0; }));
}

double effective_support(std::span<const double> probabilities) { return std::exp(entropy(probabilities)); }

double simpson_support(std::span<const double> probabilities) {
  double sum = 0;
  for (const double p : probabilities) sum += p * p;
  return 1 / sum;
}

std::size_t nucleus_size(std::span<const double> probabilities, double share) {
  constexpr double kRounding = 1e-12;
  std::vector<double> sorted(probabilities.begin(), probabilities.end());
  std::ranges::sort(sorted, std::greater{});
  double sum = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    if (sum >= share - kRounding) return i + 1;
  }
  return sorted.size();
}

double kl_divergence(std::span<const double> p, std::span<const double> q) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(p.size(), q.size()); ++i) {
    if (p[i] <= 0) continue;
    if (q[i] <= 0) return kInfinity;
    sum += p[i] * std::log(p[i] / q[i]);
  }
  return sum;
}

double total_variation(std::span<const double> p, std::span<const double> q) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(p.size(), q.size()); ++i) sum += std::abs(p[i] - q[i]);
  return sum / 2;
}

std::optional<double> perplexity(std::span<const double> log_probabilities) {
  if (log_probabilities.empty()) return std::nullopt;
  return std::exp(-sum_of(log_probabilities) / static_cast<double>(log_probabilities.size()));
}

std::optional<double> bits_per_byte(std::span<const double> log_probabilities, std::size_t bytes) {
  if (log_probabilities.empty() || bytes == 0) return std::nullopt;
  return -sum_of(log_probabilities) / std::log(2.0) / static_cast<double>(bytes);
}

}  // namespace plm
