#include "text/merge_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace plm {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFU;

TEST(MergeTable, FindsEachMergeAndNothingElse) {
  std::vector<MergeEntry> entries;
  for (std::uint32_t i = 0; i < 1000; ++i) entries.push_back({static_cast<TokenId>(i % 31), i, i + 7});
  const MergeTable table(entries);
  for (const MergeEntry& entry : entries) {
    EXPECT_EQ(table.rank(entry.product, entry.left_bytes, kNone), entry.rank);
    EXPECT_EQ(table.rank(entry.product + 31, entry.left_bytes, kNone), kNone);
  }
}

TEST(MergeTable, TheFirstOfEqualMergesCounts) {
  const MergeEntry entries[] = {{.product = 1, .left_bytes = 2, .rank = 5}, {.product = 1, .left_bytes = 2, .rank = 8}};
  EXPECT_EQ(MergeTable(entries).rank(1, 2, kNone), 5U);
}

TEST(MergeTable, AnEmptyOneHasNone) {
  EXPECT_EQ(MergeTable().rank(1, 2, kNone), kNone);
  EXPECT_EQ(MergeTable(std::span<const MergeEntry>()).rank(1, 2, kNone), kNone);
}

}  // namespace
}  // namespace plm
