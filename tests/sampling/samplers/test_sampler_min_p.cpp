#include <gtest/gtest.h>

#include <vector>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(MinP, AgreesWithTheGoldenCases) { expect_golden("min_p.json", 32); }

TEST(MinP, SmallestPositiveValueStillRemovesMaskedTokens) {
  const auto logits = golden_input("ninf8");
  Candidates workspace;
  const auto selection = chain_of({{"samplers", "min_p"}, {"min_p", "5e-324"}}).select(logits, DrawPlace{}, workspace);
  ASSERT_TRUE(selection);
  EXPECT_EQ(workspace.size(), 5U);
}

}  // namespace
}  // namespace plm
