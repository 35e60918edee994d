#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

// p = 0.64, 0.24, 0.09, 0.03 and so on; 0.2 * 0.64^2 = 0.082.
TEST(TopA, KeepsBySquareOfTheGreatestProbability) {
  const std::vector<float> logits = {3, 2, 1, 0, -1};
  Candidates workspace;
  ASSERT_TRUE(chain_of({{"samplers", "top_a"}, {"top_a", "0.2"}}).select(logits, {}, workspace));
  EXPECT_EQ(workspace.size(), 3U);
  ASSERT_TRUE(chain_of({{"samplers", "top_a"}, {"top_a", "0.3"}}).select(logits, {}, workspace));
  EXPECT_EQ(workspace.size(), 2U);
  ASSERT_TRUE(chain_of({{"samplers", "top_a"}, {"top_a", "1000"}}).select(logits, {}, workspace));
  EXPECT_EQ(workspace.size(), 1U);
}

}  // namespace
}  // namespace plm
