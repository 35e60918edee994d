#include "model/layers/window.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

RowTable cut(WindowedTable& window, const std::vector<RowSight>& sights, const std::vector<std::uint32_t>& positions,
             const std::vector<std::uint64_t>& bits = {}) {
  window.take({.tokens = {},
               .positions = positions,
               .table = {sights, {}, bits},
               .yields = {},
               .statistics = {},
               .results = {}});
  return window.table();
}

TEST(Window, CausalRowsSeeTheirLatestPositions) {
  WindowedTable window(3);
  const RowTable table =
      cut(window, {{.slot = 0, .end = 1}, {.slot = 2, .end = 3}, {.slot = 3, .end = 4}, {.slot = 700, .end = 701}},
          {0, 2, 3, 700});
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0].begin, 0U);
  EXPECT_EQ(table.rows[1].begin, 0U);
  EXPECT_EQ(table.rows[2].begin, 1U);
  EXPECT_EQ(table.rows[3].begin, 698U);
  EXPECT_EQ(table.rows[3].end, 701U);
}

TEST(Window, ASymmetricOneReachesAheadAsWell) {
  WindowedTable window = WindowedTable::symmetric(2);
  std::vector<RowSight> sights;
  for (std::uint32_t i = 0; i < 6; ++i) sights.push_back({.slot = i, .end = 6});
  sights.push_back({.slot = 1, .end = 2});  // of a text that is shorter
  const RowTable table = cut(window, sights, {0, 1, 2, 3, 4, 5, 1});
  const std::pair<std::uint32_t, std::uint32_t> spans[] = {{0, 3}, {0, 4}, {0, 5}, {1, 6}, {2, 6}, {3, 6}, {0, 2}};
  for (std::size_t i = 0; i < std::size(spans); ++i) {
    EXPECT_EQ(table.rows[i].begin, spans[i].first) << i;
    EXPECT_EQ(table.rows[i].end, spans[i].second) << i;
  }
  const RowTable by_bits = cut(window,
                               {{.slot = 0, .own_begin = 0, .own_count = 4, .own_bits_word = 0},
                                {.slot = 1, .own_begin = 0, .own_count = 4, .own_bits_word = 1},
                                {.slot = 2, .own_begin = 0, .own_count = 4, .own_bits_word = 2},
                                {.slot = 3, .own_begin = 0, .own_count = 4, .own_bits_word = 3}},
                               {0, 1, 2, 3}, {0xF, 0xF, 0xF, 0xF});
  EXPECT_EQ(by_bits.own_bits[0], 0x7U);
  EXPECT_EQ(by_bits.own_bits[3], 0xEU);
}

TEST(Window, ASpanThatIsAlreadyShorterStays) {
  WindowedTable window(5);
  const RowTable table = cut(window, {{.slot = 9, .begin = 8, .end = 10}, {.slot = 9, .begin = 2, .end = 3}}, {9, 9});
  EXPECT_EQ(table.rows[0].begin, 8U);
  EXPECT_EQ(table.rows[1].begin, 3U) << "nothing of the span is left";
  EXPECT_EQ(table.rows[1].end, 3U);
}

TEST(Window, RowsOfATreeAreMeasuredByTheirPositions) {
  // Ten stored cells, then a draft tree of two branches: positions 10; 11, 11; 12. Every row sees all own slots.
  std::vector<RowSight> sights;
  for (std::uint32_t i = 0; i < 4; ++i) {
    sights.push_back({.slot = 10 + i, .end = 10, .own_begin = 10, .own_count = 4, .own_bits_word = i});
  }
  WindowedTable window(2);
  const RowTable table = cut(window, sights, {10, 11, 11, 12}, {0xF, 0xF, 0xF, 0xF});
  EXPECT_EQ(table.rows[0].begin, 9U);
  EXPECT_EQ(table.rows[1].begin, 10U) << "all stored cells are out of sight";
  EXPECT_EQ(table.rows[3].begin, 10U);
  EXPECT_EQ(table.own_bits[0], 0xFU);
  EXPECT_EQ(table.own_bits[1], 0xFU);
  EXPECT_EQ(table.own_bits[3], 0xEU) << "position 10 is two before 12";
}

TEST(Window, SequencesBesideEachOtherKeepTheirOwnRows) {
  std::vector<RowSight> sights{{.sequence = 0, .slot = 5, .end = 6}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    sights.push_back({.sequence = 1, .slot = i, .end = 0, .own_begin = 0, .own_count = 2, .own_bits_word = i});
  }
  WindowedTable window(1);
  const RowTable table = cut(window, sights, {5, 0, 1}, {0b11, 0b11});
  EXPECT_EQ(table.rows[0].begin, 5U);
  EXPECT_EQ(table.own_bits[0], 0b11U);
  EXPECT_EQ(table.own_bits[1], 0b10U);
}

}  // namespace
}  // namespace plm
