#include <gtest/gtest.h>

#include <cmath>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(Mirostat, FollowsTheGoldenTrajectories) {
  int steps = 0;
  for (const Json& test_case : golden_cases("mirostat.json")) {
    SCOPED_TRACE(test_case["id"].get<std::string>());
    Chain chain = golden_chain(test_case);
    EXPECT_EQ(chain.state()[0], test_case["mu0"].get<double>());
    for (const Json& step : test_case["steps"]) {
      const auto selection = select_golden(chain, test_case, step);
      expect_choice(selection, step["selected"], test_case, step);
      if (!step["u"].is_null()) {
        EXPECT_EQ(selection.random, step["u"].get<double>());
      }
      EXPECT_EQ(selection.candidates_left, step["n"].get<std::size_t>());
      EXPECT_NEAR(selection.probability, step["p"].get<double>(), 2e-6);
      EXPECT_NEAR(chain.state()[0], step["mu"].get<double>(), 2e-5 * std::max(1.0, chain.state()[0]));
      ++steps;
    }
  }
  EXPECT_EQ(steps, 220);
}

TEST(Mirostat, KeepsTheSurpriseNearItsTarget) {
  const auto logits = golden_input("gauss32k");
  for (const char* version : {"1", "2"}) {
    Chain chain = chain_of({{"samplers", "mirostat"}, {"mirostat", version}, {"mirostat_tau", "3"}});
    Candidates workspace;
    double bits = 0;
    for (std::uint32_t cell = 0; cell < 400; ++cell) {
      const auto selection = chain.select(logits, {.seed = 5, .cell = cell}, workspace);
      ASSERT_TRUE(selection);
      bits += cell < 100 ? 0 : -selection->log_probability / std::log(2.0);
      chain.accept(selection->id);
    }
    EXPECT_NEAR(bits / 300, 3, 0.3) << version;
  }
}

}  // namespace
}  // namespace plm
