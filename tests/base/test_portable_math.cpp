#include "base/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plm {
namespace {

TEST(PortableMath, ExpF32IsWithinTwoUlpOfTheCLibrary) {
  double worst = 0;
  for (float x = -87.0F; x < 88.0F; x += 0.0137F) {
    const double expected = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(exp_f32(x) - expected) / expected);
  }
  EXPECT_LT(worst, 2.4e-7);
}

TEST(PortableMath, ExpF32Edges) {
  EXPECT_EQ(exp_f32(0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-1000.0F), 0.0F);
  EXPECT_EQ(exp_f32(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_EQ(exp_f32(1000.0F), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(exp_f32(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isfinite(exp_f32(88.7F)));
}

TEST(PortableMath, TanhErfAndGeluAreWithinRoundingOfTheCLibrary) {
  const double half_pi_root = std::sqrt(2 / M_PI);
  for (float x = -12.0F; x < 12.0F; x += 0.00137F) {
    const double exact = x;
    EXPECT_NEAR(tanh_f32(x), std::tanh(exact), 2e-7 * std::abs(std::tanh(exact))) << x;
    EXPECT_NEAR(erf_f32(x), std::erf(exact), 3e-7 * std::abs(std::erf(exact))) << x;
    const double size = std::max(1.0, std::abs(exact));
    EXPECT_NEAR(gelu_erf_f32(x), exact / 2 * (1 + std::erf(exact / std::sqrt(2.0))), 3e-7 * size) << x;
    const double inner = half_pi_root * (exact + 0.044715 * exact * exact * exact);
    EXPECT_NEAR(gelu_tanh_f32(x), exact / 2 * (1 + std::tanh(inner)), 3e-7 * size) << x;
  }
  EXPECT_NEAR(soft_cap_f32(100.0F, 30.0F), 30 * std::tanh(100.0 / 30), 4e-6);
}

TEST(PortableMath, SoftplusAndSigmoidAreWithinRoundingOfTheCLibrary) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (float x = -80.0F; x < 80.0F; x += 0.00731F) {
    const double exact = x;
    const double softplus = exact > 0 ? exact + std::log1p(std::exp(-exact)) : std::log1p(std::exp(exact));
    EXPECT_NEAR(softplus_f32(x), softplus, 4e-7 * softplus) << x;
    EXPECT_NEAR(sigmoid_f32(x), 1 / (1 + std::exp(-exact)), 4e-7 / (1 + std::exp(-exact))) << x;
  }
  EXPECT_EQ(softplus_f32(infinity), infinity);
  EXPECT_EQ(softplus_f32(-infinity), 0.0F);
  EXPECT_TRUE(std::isnan(softplus_f32(std::numeric_limits<float>::quiet_NaN())));
}

TEST(PortableMath, TanhAndErfEdges) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (float (*curve)(float) : {tanh_f32, erf_f32}) {
    EXPECT_EQ(curve(infinity), 1.0F);
    EXPECT_EQ(curve(-infinity), -1.0F);
    EXPECT_GT(curve(1e-30F), 0.0F);
    EXPECT_EQ(curve(-0.0F), 0.0F);
    EXPECT_TRUE(std::isnan(curve(std::numeric_limits<float>::quiet_NaN())));
  }
}

TEST(PortableMath, DoublesAgreeWithTheCLibrary) {
  for (double x = -700; x < 700; x += 0.731) EXPECT_NEAR(exp_f64(x) / std::exp(x), 1.0, 4e-16) << x;
  for (double x = 1e-8; x < 1e8; x *= 1.137) {
    EXPECT_NEAR(log_f64(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  for (double x = -1000; x < 100000; x += 17.37) {
    EXPECT_NEAR(sin_cos_f64(x).sin, std::sin(x), 4e-16) << x;
    EXPECT_NEAR(sin_cos_f64(x).cos, std::cos(x), 4e-16) << x;
  }
}

}  // namespace
}  // namespace plm
