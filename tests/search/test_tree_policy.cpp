#include "search/tree_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/philox.h"
#include "search/conformance.h"

namespace plm {
namespace {

TEST(TreePolicy, WidthsAreThoseOfTheReference) {
  for_each_case("rebase_widths", [](const Json& input, const Json& expected) {
    const auto rewards = input["rewards"].get<std::vector<double>>();
    EXPECT_EQ(rebase_widths(rewards, input["budget"].get<std::size_t>(), input["temp"].get<double>()),
              expected.get<std::vector<std::size_t>>());
  });
}

TEST(TreePolicy, WidthsAddUpToTheBudget) {
  for (std::uint32_t round = 0; round < 200; ++round) {
    std::vector<double> rewards;
    for (std::uint32_t i = 0; i < 1 + round % 9; ++i) rewards.push_back(uniform({.seed = round, .cell = i}));
    const auto widths = rebase_widths(rewards, round, 0.05);
    EXPECT_EQ(std::accumulate(widths.begin(), widths.end(), std::size_t{0}), round);
    for (std::size_t i = 1; i < rewards.size(); ++i) {
      if (rewards[i] > rewards[0]) {
        EXPECT_GE(widths[i] + 1, widths[0]);
      }
    }
  }
  EXPECT_TRUE(rebase_widths({}, 5, 1).empty());
}

TEST(TreePolicy, BeamsCostWhatTheReferenceSays) {
  for_each_case("beam_plan", [](const Json& input, const Json& expected) {
    const auto plan = plan_beam({.candidates = input["n"].get<std::size_t>(),
                                 .branching = input["m"].get<std::size_t>(),
                                 .depth = input["depth"].get<std::size_t>(),
                                 .lookahead = input["lookahead"].get<std::size_t>()});
    ASSERT_EQ(plan.has_value(), !expected.is_null());
    if (!plan.has_value()) return;
    EXPECT_EQ(plan->kept, expected["kept"].get<std::size_t>());
    EXPECT_EQ(plan->candidates, expected["candidates_per_step"].get<std::size_t>());
    EXPECT_EQ(plan->steps_generated, expected["steps_generated"].get<std::size_t>());
  });
  EXPECT_EQ(plan_beam({.candidates = 4, .branching = 0, .depth = 1}), std::nullopt);
}

TEST(TreePolicy, TreeRulesAreThoseOfTheReference) {
  const auto record = [](const Json& input) {
    return NodeRecord{input["q_sum"].get<double>(), input["visits"].get<std::size_t>(),
                      input["parent_visits"].get<std::size_t>()};
  };
  for_each_case("uct", [&](const Json& input, const Json& expected) {
    const double found = uct(record(input), input["c"].get<double>());
    if (expected.is_number()) {
      EXPECT_NEAR(found, expected.get<double>(), 1e-9);
    } else {
      EXPECT_TRUE(std::isinf(found));
    }
  });
  for_each_case("puct", [&](const Json& input, const Json& expected) {
    EXPECT_NEAR(puct(record(input), input["prior"].get<double>(), input["c"].get<double>()), expected.get<double>(),
                1e-9);
  });
}

}  // namespace
}  // namespace plm
