#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

// Also where llama.cpp leaves nothing (012): masked tokens are choices there at a threshold of 0.
TEST(Xtc, AgreesWithTheGoldenCases) { expect_golden("xtc.json", 36); }

TEST(Xtc, NeverLeavesMaskedTokensOnly) {
  const auto logits = golden_input("ninf8");
  Candidates workspace;
  const auto selection = chain_of({{"samplers", "xtc"}, {"xtc_probability", "1"}, {"xtc_threshold", "0"}})
                             .select(logits, {.seed = 1}, workspace);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->candidates_left, 1U);
  EXPECT_EQ(selection->id, 7);
}

TEST(Xtc, FiresAsTheGoldenGates) {
  int cases = 0;
  for (const Json& test_case : golden_cases("xtc_gate.json")) {
    SCOPED_TRACE(test_case["id"].get<std::string>());
    Chain chain = chain_of({{"samplers", "xtc"},
                            {"xtc_probability", json_text(test_case["probability"])},
                            {"xtc_threshold", json_text(test_case["threshold"])},
                            {"rng", "mt19937"}});
    std::string fired;
    std::size_t count = 0;
    const std::size_t draws = test_case["draws"];
    const auto logits = golden_input(test_case["input"]);
    Candidates workspace;
    for (std::size_t i = 0; i < draws; ++i) {
      const auto selection = chain.select(logits, {.seed = test_case["seed"].get<std::uint32_t>()}, workspace);
      ASSERT_TRUE(selection);
      chain.accept(selection->id);
      const bool has_fired = selection->candidates_left < logits.size();
      count += has_fired ? 1 : 0;
      if (i < 64) fired += has_fired ? '1' : '0';
    }
    EXPECT_EQ(fired, test_case["fired_first64"].get<std::string>());
    EXPECT_EQ(count, test_case["fired"].get<std::size_t>());
    ++cases;
  }
  EXPECT_EQ(cases, 9);
}

}  // namespace
}  // namespace plm
