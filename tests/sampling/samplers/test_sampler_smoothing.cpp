#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

std::vector<Candidate> smoothed(const char* factor, const char* curve, const std::vector<float>& logits) {
  Candidates workspace;
  EXPECT_TRUE(chain_of({{"samplers", "smoothing"}, {"smoothing_factor", factor}, {"smoothing_curve", curve}})
                  .select(logits, {}, workspace));
  return in_canonical_order(workspace);
}

TEST(Smoothing, BendsByTheQuadraticAndTheCubicCurve) {
  const std::vector<float> logits = {5, 4, 3};
  const auto quadratic = smoothed("0.5", "1", logits);
  EXPECT_EQ(quadratic[0].logit, 5.0F);
  EXPECT_EQ(quadratic[1].logit, 4.5F);
  EXPECT_EQ(quadratic[2].logit, 3.0F);
  const auto cubic = smoothed("0.5", "3", logits);
  EXPECT_EQ(cubic[1].logit, 4.5F);
  EXPECT_EQ(cubic[2].logit, 1.0F);
  const auto mixed = smoothed("1", "2", logits);
  EXPECT_EQ(mixed[1].logit, 4.0F);
  EXPECT_EQ(mixed[2].logit, -1.0F);
}

TEST(Smoothing, BeyondFloatStaysFinite) {
  const auto left = smoothed("1000", "3", {3e38F, -3e38F});
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[1].logit, std::numeric_limits<float>::lowest());
}

}  // namespace
}  // namespace plm
