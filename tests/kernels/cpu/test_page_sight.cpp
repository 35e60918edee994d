#include "kernels/cpu/page_sight.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace plm {
namespace {

// All slots a row sees, page by page.
std::set<std::size_t> slots_in_sight(const RowSight& row, const std::vector<std::uint64_t>& bits) {
  std::set<std::size_t> slots;
  const PageRange pages = pages_in_sight(row);
  for (std::size_t p = pages.begin; p < pages.end; ++p) {
    const PageSight sight = page_sight(row, bits, p);
    EXPECT_EQ(sight.sees_nothing(), sight.words == decltype(sight.words){});
    for (std::size_t cell = 0; cell < kPageCells; ++cell) {
      if (sight.sees(cell)) slots.insert(p * kPageCells + cell);
    }
  }
  return slots;
}

std::set<std::size_t> range(std::size_t begin, std::size_t end) {
  std::set<std::size_t> slots;
  for (std::size_t slot = begin; slot < end; ++slot) slots.insert(slot);
  return slots;
}

TEST(PageSight, ASpanMayCrossPages) {
  EXPECT_EQ(slots_in_sight({.begin = 0, .end = 1}, {}), range(0, 1));
  EXPECT_EQ(slots_in_sight({.begin = 250, .end = 520}, {}), range(250, 520));
  EXPECT_EQ(slots_in_sight({.begin = 256, .end = 512}, {}), range(256, 512));
  EXPECT_TRUE(slots_in_sight({.begin = 7, .end = 7}, {}).empty());
}

TEST(PageSight, BitsAddSingleSlots) {
  const std::vector<std::uint64_t> bits{~std::uint64_t{0}, 0b101, std::uint64_t{1} << 63};
  std::set<std::size_t> expected = range(0, 10);
  expected.insert({255, 257});
  EXPECT_EQ(slots_in_sight({.begin = 0, .end = 10, .own_begin = 255, .own_count = 3, .own_bits_word = 1}, bits),
            expected);
  // Beyond own_count nothing is visible, whatever the bits say.
  EXPECT_EQ(slots_in_sight({.own_begin = 255, .own_count = 1, .own_bits_word = 1}, bits), range(255, 256));
  // The second word speaks about slots 64 and further from own_begin.
  EXPECT_EQ(slots_in_sight({.own_begin = 500, .own_count = 128, .own_bits_word = 1}, bits),
            (std::set<std::size_t>{500, 502, 627}));
}

TEST(PageSight, PagesOutsideASpanAreNotVisited) {
  const PageRange pages = pages_in_sight({.begin = 300, .end = 400, .own_begin = 1000, .own_count = 30});
  EXPECT_EQ(pages.begin, 1U);
  EXPECT_EQ(pages.end, 5U);
  const PageRange only_own = pages_in_sight({.own_begin = 1000, .own_count = 30});
  EXPECT_EQ(only_own.begin, 3U);
}

}  // namespace
}  // namespace plm
