#include "lab/repetition.h"

#include <random>

#include "metric_cases.h"

namespace plm {
namespace {

TEST(Repetition, EveryCase) {
  PLM_NEEDS_METRIC_CASES();
  check_cases("rep_n", [](const Json& in) { return repeated_ngrams(TokenIds().of(in["tokens"]), in["n"]); });
  check_cases("rep_l", [](const Json& in) { return repeated_tokens(TokenIds().of(in["tokens"]), in["l"]); });
  check_cases("longest_repeat", [](const Json& in) -> std::optional<double> {
    return static_cast<double>(longest_repeat(TokenIds().of(in["tokens"]), in["overlap"]));
  });
  for (const Json& one : metric_cases("tail_loop")) {
    SCOPED_TRACE(one["id"]);
    const Json& in = one["input"];
    const LoopRule rule{in["max_period"], in["min_count"], in["min_tokens"]};
    const auto loop = tail_loop(TokenIds().of(in["tokens"]), rule);
    ASSERT_EQ(loop.has_value(), !one["expect"].is_null());
    if (!loop.has_value()) continue;
    EXPECT_EQ(Json({loop->period, loop->copies, loop->cover}), one["expect"]);
  }
}

// The plain definition, quadratic.
std::size_t plain_longest_repeat(const std::vector<std::int32_t>& x, bool may_overlap) {
  std::size_t best = 0;
  for (std::size_t distance = 1; distance < x.size(); ++distance) {
    std::size_t run = 0;
    for (std::size_t i = 0; i + distance < x.size(); ++i) {
      run = x[i] == x[i + distance] ? run + 1 : 0;
      best = std::max(best, may_overlap ? run : std::min(run, distance));
    }
  }
  return best;
}

TEST(Repetition, LongestRepeatIsThatOfThePlainDefinition) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int32_t> x(1 + random() % 60);
    for (auto& token : x) token = static_cast<std::int32_t>(random() % (1 + round % 4));
    for (const bool may_overlap : {true, false}) {
      EXPECT_EQ(longest_repeat(x, may_overlap), plain_longest_repeat(x, may_overlap)) << round << may_overlap;
    }
  }
}

TEST(Repetition, ALongTextTakesNoLongTime) {
  const std::vector<std::int32_t> same(100000, 7);
  EXPECT_EQ(longest_repeat(same, true), same.size() - 1);
  EXPECT_EQ(longest_repeat(same, false), same.size() / 2);
  EXPECT_EQ(tail_loop(same, {})->period, 1U);
}

TEST(Repetition, TheWindowThatRepeatsMost) {
  std::vector<std::int32_t> x;
  for (std::int32_t i = 0; i < 100; ++i) x.push_back(i);
  for (std::int32_t i = 0; i < 64; ++i) x.push_back(i % 4);
  for (std::int32_t i = 200; i < 300; ++i) x.push_back(i);
  const auto worst = most_repeated_window(x, 4, 64);
  ASSERT_TRUE(worst.has_value());
  EXPECT_EQ(worst->begin, 100U);
  EXPECT_NEAR(worst->share, 1 - 4.0 / 61, 1e-12);
  EXPECT_FALSE(most_repeated_window(std::vector<std::int32_t>(10), 4, 64).has_value());
}

}  // namespace
}  // namespace plm
