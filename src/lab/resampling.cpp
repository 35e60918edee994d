#include "lab/resampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace plm {
namespace {

// With what rounding loses added at the end (Neumaier 1974): whether two means are equal must not hang on an order.
double sum_of(std::span<const double> numbers) {
  double sum = 0, lost = 0;
  for (const double number : numbers) {
    const double next = sum + number;
    lost += std::abs(sum) >= std::abs(number) ? (sum - next) + number : (number - next) + sum;
    sum = next;
  }
  return sum + lost;
}

double mean_of(std::span<const double> numbers) { return sum_of(numbers) / static_cast<double>(numbers.size()); }

// Between order statistics linearly (type 7).
double quantile(std::span<const double> sorted, double share) {
  const double place = static_cast<double>(sorted.size() - 1) * share;
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double normal_share(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double normal_quantile(double share) {
  if (share <= 0) return -std::numeric_limits<double>::infinity();
  if (share >= 1) return std::numeric_limits<double>::infinity();
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (normal_share(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

// The shares between which the interval lies, corrected for bias and skew (Efron 1987).
Interval corrected_shares(std::span<const double> numbers, std::span<const double> sorted, const Interval& shares) {
  const double mean = mean_of(numbers), n = static_cast<double>(numbers.size());
  double below = 0;
  for (const double draw : sorted) below += draw < mean ? 1.0 : draw == mean ? 0.5 : 0.0;
  const double bias = normal_quantile(below / static_cast<double>(sorted.size()));
  std::vector<double> without;
  for (const double number : numbers) without.push_back((sum_of(numbers) - number) / (n - 1));
  const double centre = mean_of(without);
  double squares = 0, cubes = 0;
  for (const double each : without) {
    const double off = centre - each;
    squares += off * off;
    cubes += off * off * off;
  }
  const double skew = squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
  const auto corrected = [&](double share) {
    const double z = bias + normal_quantile(share);
    return normal_share(bias + z / (1 - skew * z));
  };
  return {corrected(shares.low), corrected(shares.high)};
}

// Draws that are as far from 0 as what was found.
class SignFlips {
 public:
  SignFlips(std::span<const double> a, std::span<const double> b) {
    double sizes = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      differences_.push_back(a[i] - b[i]);
      sizes += std::abs(differences_.back());
    }
    least_ = std::abs(sum_of(differences_)) - 1e-12 * std::max(1.0, sizes);
  }

  [[nodiscard]] std::size_t size() const { return differences_.size(); }

  [[nodiscard]] double exact() const {
    const std::uint64_t all = std::uint64_t{1} << size();
    std::uint64_t hits = 0;
    for (std::uint64_t signs = 0; signs < all; ++signs) {
      double sum = 0;
      for (std::size_t i = 0; i < size(); ++i) sum += (signs >> i & 1) != 0 ? differences_[i] : -differences_[i];
      if (std::abs(sum) >= least_) ++hits;
    }
    return static_cast<double>(hits) / static_cast<double>(all);
  }

  [[nodiscard]] double drawn(std::uint64_t seed) const {
    constexpr std::size_t kDraws = 10000;
    SplitMix64 signs(seed);
    std::size_t hits = 0;
    for (std::size_t draw = 0; draw < kDraws; ++draw) {
      double sum = 0;
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < size(); ++i) {
        if (i % 64 == 0) bits = signs.next();
        sum += (bits >> (i % 64) & 1) != 0 ? differences_[i] : -differences_[i];
      }
      if (std::abs(sum) >= least_) ++hits;
    }
    return static_cast<double>(hits + 1) / static_cast<double>(kDraws + 1);
  }

 private:
  std::vector<double> differences_;
  double least_ = 0;
};

}  // namespace

std::uint64_t SplitMix64::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

std::uint64_t SplitMix64::below(std::uint64_t n) {
  // The upper 64 bits of a product of 128, by halves.
  const std::uint64_t x = next(), low = 0xFFFFFFFFU;
  const std::uint64_t bottom = (x & low) * (n & low);
  const std::uint64_t left = (x >> 32) * (n & low) + (bottom >> 32);
  const std::uint64_t right = (x & low) * (n >> 32) + (left & low);
  return (x >> 32) * (n >> 32) + (left >> 32) + (right >> 32);
}

std::optional<Estimate> bootstrap_mean(std::span<const double> numbers, const BootstrapRule& rule) {
  const std::size_t n = numbers.size();
  if (n < 2 || rule.draws == 0) return std::nullopt;
  SplitMix64 numbers_drawn(rule.seed);
  std::vector<double> means, drawn(n);
  for (std::size_t draw = 0; draw < rule.draws; ++draw) {
    for (double& number : drawn) number = numbers[numbers_drawn.below(n)];
    means.push_back(mean_of(drawn));
  }
  std::ranges::sort(means);
  const double mean = mean_of(numbers);
  if (means.front() == means.back()) return Estimate{mean, {mean, mean}};
  Interval shares{rule.alpha / 2, 1 - rule.alpha / 2};
  if (rule.method == BootstrapMethod::bca) shares = corrected_shares(numbers, means, shares);
  return Estimate{mean, {quantile(means, shares.low), quantile(means, shares.high)}};
}

std::optional<double> paired_permutation(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
  constexpr std::size_t kMostExact = 20;
  const SignFlips flips(a, b);
  if (flips.size() == 0) return std::nullopt;
  return flips.size() <= kMostExact ? flips.exact() : flips.drawn(seed);
}

double mcnemar_exact(std::uint64_t b, std::uint64_t c) {
  const std::uint64_t n = b + c;
  if (n == 0) return 1;
  // Terms of the binomial by their logarithms, which no number of pairs overflows.
  const auto size = static_cast<double>(n);
  double sum = 0;
  for (std::uint64_t i = 0; i <= std::min(b, c); ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(size + 1) - std::lgamma(k + 1) - std::lgamma(size - k + 1) - size * std::log(2.0));
  }
  return std::min(1.0, 2 * sum);
}

std::optional<Interval> wilson_interval(std::uint64_t right, std::uint64_t all, double z) {
  if (all == 0) return std::nullopt;
  const auto n = static_cast<double>(all);
  const double p = static_cast<double>(right) / n, d = 1 + z * z / n;
  const double middle = (p + z * z / (2 * n)) / d;
  const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d;
  return Interval{middle - half, middle + half};
}

std::vector<double> holm_adjusted(std::span<const double> chances) {
  std::vector<std::size_t> order(chances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(
      order, [&](std::size_t a, std::size_t b) { return chances[a] != chances[b] ? chances[a] < chances[b] : a < b; });
  std::vector<double> adjusted(chances.size());
  double most = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    most = std::max(most, std::min(1.0, static_cast<double>(order.size() - rank) * chances[order[rank]]));
    adjusted[order[rank]] = most;
  }
  return adjusted;
}

std::optional<std::vector<double>> bradley_terry(std::size_t items, std::span<const Game> games, double prior) {
  constexpr int kMostRounds = 100000;
  constexpr double kPrecision = 1e-13;
  const double draws = items > 0 ? prior * static_cast<double>(items - 1) : 0;
  std::vector<double> won(items, draws / 2), played(items, draws);
  std::vector<std::vector<double>> met(items, std::vector<double>(items, prior));
  for (const Game& game : games) {
    if (game.first >= items || game.second >= items) return std::nullopt;
    won[game.first] += game.score;
    won[game.second] += 1 - game.score;
    for (const std::size_t item : {game.first, game.second}) played[item] += 1;
    met[game.first][game.second] += 1;
    met[game.second][game.first] += 1;
  }
  for (std::size_t i = 0; i < items; ++i) {
    if (won[i] <= 0 || won[i] >= played[i]) return std::nullopt;
  }
  std::vector<double> strengths(items, 1), next(items);
  for (int round = 0; round < kMostRounds; ++round) {
    double logarithms = 0;
    for (std::size_t i = 0; i < items; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < items; ++j) sum += j != i ? met[i][j] / (strengths[i] + strengths[j]) : 0;
      next[i] = won[i] / sum;
      logarithms += std::log(next[i]);
    }
    const double scale = std::exp(logarithms / static_cast<double>(items));
    double moved = 0;
    for (std::size_t i = 0; i < items; ++i) {
      next[i] /= scale;
      moved = std::max(moved, std::abs(next[i] - strengths[i]) / strengths[i]);
    }
    strengths = next;
    if (moved < kPrecision) break;
  }
  for (double& strength : strengths) strength = std::log(strength);
  return strengths;
}

double least_visible_difference(std::size_t pairs, double deviation) {
  constexpr double kFivePercent = 1.959963984540054, kEightyPercent = 0.8416212335729143;
  return (kFivePercent + kEightyPercent) * deviation / std::sqrt(static_cast<double>(std::max<std::size_t>(pairs, 1)));
}

}  // namespace plm
