#include <gtest/gtest.h>

#include <cmath>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

// Probabilities 0.5, 0.25, 0.125, 0.0625, 0.0625: first differences 0.25, 0.125, 0.0625, 0, second 0.125, 0.0625,
// 0.0625, which are 0.5, 0.25, 0.25 of their sum.
TEST(Tfs, CutsWhereTheShareOfTheCurvatureIsReached) {
  const std::vector<float> logits = {std::log(0.0625F), std::log(0.5F), std::log(0.25F), std::log(0.125F),
                                     std::log(0.0625F)};
  for (const auto& [z, kept] : {std::pair{"0.1", 1U}, {"0.7", 1U}, {"0.8", 2U}, {"0.9999999", 2U}, {"1", 5U}}) {
    Candidates workspace;
    ASSERT_TRUE(chain_of({{"samplers", "tfs"}, {"tfs", z}}).select(logits, {}, workspace));
    EXPECT_EQ(workspace.size(), kept) << z;
    EXPECT_EQ(in_canonical_order(workspace)[0].id, 1) << z;
  }
}

TEST(Tfs, WithoutCurvatureEveryTokenCountsAlike) {
  const std::vector<float> logits(12, 1.0F);
  Candidates workspace;
  ASSERT_TRUE(chain_of({{"samplers", "tfs"}, {"tfs", "0.45"}}).select(logits, {}, workspace));
  EXPECT_EQ(workspace.size(), 4U);  // five of ten places exceed 0.45
}

TEST(Tfs, ALongTailChangesNothing) {
  std::vector<float> logits = {5, 4, 3, 2, 1, -60, -60};
  Candidates workspace;
  ASSERT_TRUE(chain_of({{"samplers", "tfs"}, {"tfs", "0.9"}}).select(logits, {}, workspace));
  const std::size_t kept = workspace.size();
  logits.resize(100'000, -60.0F);
  ASSERT_TRUE(chain_of({{"samplers", "tfs"}, {"tfs", "0.9"}}).select(logits, {}, workspace));
  EXPECT_EQ(workspace.size(), kept);
}

}  // namespace
}  // namespace plm
