#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace plm {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Checked, Add) {
  EXPECT_EQ(checked_add(2, 3), 5U);
  EXPECT_EQ(checked_add(kMost, 0), kMost);
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_EQ(checked_add(kMost, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMost, kMost), std::nullopt);
}

TEST(Checked, Multiply) {
  EXPECT_EQ(checked_multiply(6, 7), 42U);
  EXPECT_EQ(checked_multiply(kMost, 0), 0U);
  EXPECT_EQ(checked_multiply(kMost, 1), kMost);
  EXPECT_EQ(checked_multiply(0xFFFFFFFFU, 0x100000001U), kMost);
  EXPECT_EQ(checked_multiply(1ULL << 32, 1ULL << 32), std::nullopt);
  EXPECT_EQ(checked_multiply(kMost, 2), std::nullopt);
}

TEST(Checked, RoundUp) {
  EXPECT_EQ(checked_round_up(0, 32), 0U);
  EXPECT_EQ(checked_round_up(1, 32), 32U);
  EXPECT_EQ(checked_round_up(32, 32), 32U);
  EXPECT_EQ(checked_round_up(33, 32), 64U);
  EXPECT_EQ(checked_round_up(10, 3), 12U);
  EXPECT_EQ(checked_round_up(kMost, 1), kMost);
  EXPECT_EQ(checked_round_up(kMost - 31, 32), kMost - 31);
  EXPECT_EQ(checked_round_up(kMost - 30, 32), std::nullopt);
  EXPECT_EQ(checked_round_up(1, kMost), kMost);
}

}  // namespace
}  // namespace plm
