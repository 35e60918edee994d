#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(AdaptiveP, FollowsTheGoldenTrajectories) {
  int steps = 0;
  for (const Json& test_case : golden_cases("adaptive_p.json")) {
    SCOPED_TRACE(test_case["id"].get<std::string>());
    Chain chain = golden_chain(test_case);
    const bool acts = test_case["samplers"].back()["target"].get<double>() >= 0;  // else the plain draw is left
    if (acts) {
      const double initial = test_case["init"]["weighted_sum"];
      EXPECT_NEAR(chain.state()[0], initial, 2e-5 * std::max(1.0, initial));
    }
    for (const Json& step : test_case["steps"]) {
      const auto selection = select_golden(chain, test_case, step);
      expect_choice(selection, step["selected"], test_case, step);
      if (!step["u"].is_null()) {
        EXPECT_EQ(selection.random, step["u"].get<double>());
      }
      ++steps;
      if (!acts) continue;
      EXPECT_NEAR(selection.probability, step["p"][step["index"].get<std::size_t>() % 8].get<double>(),
                  step["index"].get<std::size_t>() < 8 ? 4e-6 : 1.0);
      EXPECT_NEAR(chain.state()[0], step["weighted_sum"].get<double>(), 2e-5 * std::max(1.0, chain.state()[0]));
      EXPECT_NEAR(chain.state()[1], step["total_weight"].get<double>(), 2e-4);
    }
  }
  EXPECT_EQ(steps, 149);
}

TEST(AdaptiveP, AnotherTokenLeavesTheAverage) {
  Chain chain = chain_of({{"samplers", "adaptive_p"}, {"adaptive_target", "0.5"}});
  const auto before = std::vector<double>(chain.state().begin(), chain.state().end());
  Candidates workspace;
  const auto selection = chain.select(std::vector<float>{1, 2, 3}, {.seed = 1}, workspace);
  ASSERT_TRUE(selection);
  chain.accept((selection->id + 1) % 3);
  EXPECT_EQ(std::vector<double>(chain.state().begin(), chain.state().end()), before);
  ASSERT_TRUE(chain.select(std::vector<float>{1, 2, 3}, {.seed = 1}, workspace));
  chain.accept(selection->id);
  EXPECT_NE(std::vector<double>(chain.state().begin(), chain.state().end()), before);
}

}  // namespace
}  // namespace plm
