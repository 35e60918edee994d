#include "base/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace plm {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers that the authors publish with Random123 for philox4x32 with ten rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformIsTheTop53BitsOfTheFirstTwoWords) {
  static_assert(uniform({}) == static_cast<double>(0x6627e8d5e169c58dULL >> 11) * 0x1p-53);
  const DrawPlace place{.seed = 0x299f31d0a4093822ULL, .candidate = 0x243f6a88, .cell = 0x85a308d3, .draw = 0x13198a2e};
  const Words words = philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0}, {0xa4093822, 0x299f31d0});
  EXPECT_EQ(uniform(place), static_cast<double>((std::uint64_t{words[0]} << 32 | words[1]) >> 11) * 0x1p-53);
}

TEST(Philox, EveryPartOfThePlaceMatters) {
  const std::set<double> numbers = {
      uniform({}),          uniform({.seed = 1}), uniform({.seed = 1ULL << 32}),       uniform({.candidate = 1}),
      uniform({.cell = 1}), uniform({.draw = 1}), uniform({.purpose = Purpose::gate}),
  };
  EXPECT_EQ(numbers.size(), 7U);
}

TEST(Philox, NumbersFillTheUnitIntervalEvenly) {
  std::array<int, 16> counts{};
  constexpr std::uint32_t kDraws = 64'000;
  for (std::uint32_t cell = 0; cell < kDraws; ++cell) {
    const double u = uniform({.seed = 42, .cell = cell});
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++counts[static_cast<std::size_t>(u * 16)];
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 4000.0) * (count - 4000.0) / 4000.0;
  EXPECT_LT(chi_square, 30.6);  // 1 % of fair generators exceed this with fifteen degrees of freedom
}

}  // namespace
}  // namespace plm
