#include "lab/resampling.h"

#include "metric_cases.h"

namespace plm {
namespace {

void expect_numbers(const std::optional<std::vector<double>>& found, const Json& one) {
  SCOPED_TRACE(one["id"]);
  ASSERT_EQ(found.has_value(), !one["expect"].is_null());
  if (!found.has_value()) return;
  ASSERT_EQ(found->size(), one["expect"].size());
  for (std::size_t i = 0; i < found->size(); ++i) {
    EXPECT_NEAR((*found)[i], one["expect"][i].get<double>(), one["tol"].get<double>()) << i;
  }
}

TEST(Resampling, TheGeneratorIsTheSameEverywhere) {
  PLM_NEEDS_METRIC_CASES();
  const Json one = metric_cases("splitmix64").front(), below = metric_cases("splitmix64_below").front();
  SplitMix64 random(one["input"]["seed"]);
  for (const Json& number : one["expect"]) EXPECT_EQ(std::to_string(random.next()), number);
  SplitMix64 again(below["input"]["seed"]);
  for (const Json& number : below["expect"]) EXPECT_EQ(again.below(below["input"]["n"]), number);
}

TEST(Resampling, EveryCaseOfIntervals) {
  PLM_NEEDS_METRIC_CASES();
  for (const Json& one : metric_cases("bootstrap")) {
    const Json& in = one["input"];
    const BootstrapRule rule{.draws = in["B"],
                             .seed = in["seed"],
                             .alpha = in["alpha"],
                             .method = in["method"] == "bca" ? BootstrapMethod::bca : BootstrapMethod::percentile};
    const auto found = bootstrap_mean(case_numbers(in["x"]), rule);
    std::optional<std::vector<double>> numbers;
    if (found.has_value()) numbers = {found->value, found->interval.low, found->interval.high};
    expect_numbers(numbers, one);
  }
  for (const Json& one : metric_cases("wilson")) {
    const auto found = wilson_interval(one["input"]["c"], one["input"]["n"], one["input"]["z"]);
    std::optional<std::vector<double>> numbers;
    if (found.has_value()) numbers = {found->low, found->high};
    expect_numbers(numbers, one);
  }
}

TEST(Resampling, EveryCaseOfTests) {
  PLM_NEEDS_METRIC_CASES();
  check_cases("paired_permutation", [](const Json& in) {
    return paired_permutation(case_numbers(in["a"]), case_numbers(in["b"]), in.value("seed", std::uint64_t{1}));
  });
  check_cases("mcnemar_exact", [](const Json& in) -> std::optional<double> { return mcnemar_exact(in["b"], in["c"]); });
  for (const Json& one : metric_cases("holm")) expect_numbers(holm_adjusted(case_numbers(one["input"]["p"])), one);
}

TEST(Resampling, EveryCaseOfComparisons) {
  PLM_NEEDS_METRIC_CASES();
  for (const Json& one : metric_cases("bradley_terry")) {
    std::vector<Game> games;
    for (const Json& game : one["input"]["games"]) games.push_back({game[0], game[1], game[2]});
    expect_numbers(bradley_terry(one["input"]["items"], games, one["input"]["prior"]), one);
  }
}

TEST(Resampling, WhatSoManyPairsCanShow) {
  // About 1,560 items an arm show 5 points at even odds: 784 pairs of equal deviation do.
  EXPECT_NEAR(least_visible_difference(785, 0.5), 0.05, 1e-3);
  EXPECT_GT(least_visible_difference(10, 0.5), least_visible_difference(100, 0.5));
}

}  // namespace
}  // namespace plm
