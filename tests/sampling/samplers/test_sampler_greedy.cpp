#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(Greedy, TakesTheFirstMaximumOfTheGoldenCases) {
  int compared = 0;
  for (const Json& test_case : golden_cases("dist.json")) {
    const std::string id = test_case["id"];
    if (!id.starts_with("greedy") || test_case["input"] == "allninf8") continue;  // all masked is an error here
    SCOPED_TRACE(id);
    const auto logits = golden_input(test_case["input"]);
    Candidates candidates;
    ASSERT_TRUE(candidates.reset(logits));
    apply_golden(golden_samplers(test_case), candidates);
    ASSERT_EQ(candidates.size(), 1U);
    EXPECT_EQ(candidates.id(0), test_case["selected"][0].get<int>());
    ++compared;
  }
  EXPECT_EQ(compared, 7);
}

}  // namespace
}  // namespace plm
