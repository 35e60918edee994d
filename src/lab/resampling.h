// What can be said of few numbers: intervals by resampling, tests of paired results, strengths from comparisons.
// Everything is repeatable: draws come from SplitMix64, whose numbers are the same in every language.
// Source: reference metrics.md. Tested by tests/lab/test_resampling.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plm {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// A number below n.
  std::uint64_t below(std::uint64_t n);

 private:
  std::uint64_t state_;
};

struct Interval {
  double low = 0;
  double high = 0;
};
struct Estimate {
  double value = 0;
  Interval interval;
};

enum class BootstrapMethod : std::uint8_t { percentile, bca };
struct BootstrapRule {
  std::size_t draws = 2000;
  std::uint64_t seed = 1;
  double alpha = 0.05;  ///< share of draws outside the interval
  BootstrapMethod method = BootstrapMethod::percentile;
};
/// Of the mean; nothing for fewer than two numbers.
[[nodiscard]] std::optional<Estimate> bootstrap_mean(std::span<const double> numbers, const BootstrapRule& rule = {});

/// The chance of a difference as large as this if signs were arbitrary, two-sided: exact up to 20 pairs, else of 10,000
/// draws. Nothing of no pairs. `a` and `b` are of one length.
[[nodiscard]] std::optional<double> paired_permutation(std::span<const double> a, std::span<const double> b,
                                                       std::uint64_t seed = 1);

/// Of pairs that disagree, `b` one way and `c` the other; two-sided.
[[nodiscard]] double mcnemar_exact(std::uint64_t b, std::uint64_t c);

/// Of a share of `right` in `all`; nothing when there are none.
[[nodiscard]] std::optional<Interval> wilson_interval(std::uint64_t right, std::uint64_t all,
                                                      double z = 1.959963984540054);

/// Chances of a family of comparisons, each raised so that together they stay below what is asked of one.
[[nodiscard]] std::vector<double> holm_adjusted(std::span<const double> chances);

/// One comparison of two items: 1, 0.5 or 0 points for the first.
struct Game {
  std::size_t first = 0;
  std::size_t second = 0;
  double score = 0.5;
};
/// Strengths in logarithms with mean 0 (Bradley and Terry), with so many draws between every pair added. Nothing when
/// an item never won or never lost.
[[nodiscard]] std::optional<std::vector<double>> bradley_terry(std::size_t items, std::span<const Game> games,
                                                               double prior = 0.5);

/// The least difference of two means that so many pairs show with 80 % certainty at 5 %, when their differences vary by
/// `deviation`.
[[nodiscard]] double least_visible_difference(std::size_t pairs, double deviation);

}  // namespace plm
