#include "kernels/cpu/lanes16.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(Lanes16, AddsSixteenRunningSumsPairwise) {
  // With 2^24 in lane 0 a following 1 in the same lane is lost, one in another lane is not.
  const auto big_first = [](std::size_t other) {
    return [other](std::size_t i) { return i == 0 ? 0x1p24F : i == other || i == other + 16 ? 1.0F : 0.0F; };
  };
  EXPECT_EQ(lanes16(48, big_first(16)), 0x1p24F);        // lane 0: each 1 is rounded away
  EXPECT_EQ(lanes16(48, big_first(3)), 0x1p24F + 2.0F);  // lane 3 gathers 2 first
  EXPECT_EQ(lanes16(5, [](std::size_t i) { return static_cast<float>(i); }), 10.0F);
  EXPECT_EQ(lanes16(0, [](std::size_t) { return 1.0F; }), 0.0F);
}

}  // namespace
}  // namespace plm
