#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plm {
namespace {

bool is_f16_nan(std::uint32_t bits) { return (bits & 0x7fffU) > 0x7c00U; }

TEST(Half, EveryF16SurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_from_f16(half);
    if (is_f16_nan(bits)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(is_f16_nan(f16_from_float(value))) << bits;
    } else {
      ASSERT_EQ(f16_from_float(value), half) << bits;
    }
  }
}

TEST(Half, F16IsItsDefinition) {
  for (std::uint32_t bits = 0; bits < 0x7c00U; ++bits) {
    const auto exponent = static_cast<int>(bits >> 10);
    const auto mantissa = static_cast<float>(bits & 0x3ffU);
    const float expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0F + mantissa, exponent - 15 - 10);
    ASSERT_EQ(float_from_f16(static_cast<std::uint16_t>(bits)), expected) << bits;
    ASSERT_EQ(float_from_f16(static_cast<std::uint16_t>(bits | 0x8000U)), -expected) << bits;
  }
  EXPECT_EQ(float_from_f16(0x7c00), INFINITY);
  EXPECT_EQ(float_from_f16(0xfc00), -INFINITY);
  EXPECT_TRUE(std::signbit(float_from_f16(0x8000)));
}

// Between two neighbours: the middle goes to the even one, its neighbours in float32 to the nearer one.
TEST(Half, F16RoundsToNearestTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7bffU; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const float middle = (float_from_f16(low) + float_from_f16(high)) / 2;  // exact
    ASSERT_EQ(f16_from_float(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(f16_from_float(std::nextafter(middle, 0.0F)), low) << bits;
    ASSERT_EQ(f16_from_float(std::nextafter(middle, 1e6F)), high) << bits;
    ASSERT_EQ(f16_from_float(-middle), f16_from_float(middle) | 0x8000U) << bits;
  }
}

TEST(Half, F16Edges) {
  EXPECT_EQ(f16_from_float(65504.0F), 0x7bff);
  EXPECT_EQ(f16_from_float(std::nextafter(65520.0F, 0.0F)), 0x7bff);
  EXPECT_EQ(f16_from_float(65520.0F), 0x7c00);  // the middle between 65504 and what would be 65536
  EXPECT_EQ(f16_from_float(3e38F), 0x7c00);
  EXPECT_EQ(f16_from_float(-INFINITY), 0xfc00);
  EXPECT_EQ(f16_from_float(0x1p-25F), 0x0000);
  EXPECT_EQ(f16_from_float(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(f16_from_float(1e-45F), 0x0000);
  EXPECT_EQ(f16_from_float(-0.0F), 0x8000);
  EXPECT_TRUE(is_f16_nan(f16_from_float(NAN)));
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) std::uint16_t hardware_f16(float value) {
  return static_cast<std::uint16_t>(
      _mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), 0));
}

TEST(Half, F16AgreesWithTheProcessor) {
  if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "no F16C here";
  std::mt19937 generator(1);
  for (int i = 0; i < 200'000; ++i) {
    // Exponents from below the smallest half to above the largest.
    const std::uint32_t random = static_cast<std::uint32_t>(generator());
    const std::uint32_t bits = (random & 0x807fffffU) | (100U + generator() % 45U) << 23;
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(f16_from_float(value), hardware_f16(value)) << value;
  }
}
#endif

TEST(Half, EveryBf16SurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_from_bf16(half);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), bits << 16);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(float_from_bf16(bf16_from_float(value)))) << bits;
    } else {
      ASSERT_EQ(bf16_from_float(value), half) << bits;
    }
  }
}

TEST(Half, Bf16RoundsToNearestTiesToEven) {
  const auto rounded = [](std::uint32_t bits) { return bf16_from_float(std::bit_cast<float>(bits)); };
  EXPECT_EQ(rounded(0x3f808000U), 0x3f80);  // tie, down to even
  EXPECT_EQ(rounded(0x3f818000U), 0x3f82);  // tie, up to even
  EXPECT_EQ(rounded(0x3f808001U), 0x3f81);
  EXPECT_EQ(rounded(0x3f817fffU), 0x3f81);
  EXPECT_EQ(rounded(0x7f7fffffU), 0x7f80);  // the greatest float rounds to infinity
  EXPECT_EQ(rounded(0x00008000U), 0x0000);
  EXPECT_EQ(rounded(0x00018000U), 0x0002);
  EXPECT_EQ(rounded(0x80000000U), 0x8000);
  EXPECT_TRUE(std::isnan(float_from_bf16(rounded(0x7f800001U))));  // a NaN whose high bits are those of infinity
}

}  // namespace
}  // namespace plm
