#include "text/merge_table.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(MergeTable, FindsEachPairAndNothingElse) {
  std::vector<MergeEntry> entries;
  for (TokenId i = 0; i < 1000; ++i)
    entries.push_back({i % 31, i, {.rank = static_cast<std::uint32_t>(i), .product = i + 7}});
  const MergeTable table(entries);
  for (const MergeEntry& entry : entries) {
    const Merge merge = table.find(entry.left, entry.right);
    EXPECT_EQ(merge.rank, entry.merge.rank);
    EXPECT_EQ(merge.product, entry.merge.product);
    EXPECT_EQ(table.find(entry.left + 31, entry.right).rank, Merge::kNoRank);
  }
}

TEST(MergeTable, OrderOfThePairMatters) {
  const MergeEntry entries[] = {{.left = 1, .right = 2, .merge = {.rank = 5, .product = 9}}};
  const MergeTable table(entries);
  EXPECT_EQ(table.find(1, 2).product, 9);
  EXPECT_EQ(table.find(2, 1).rank, Merge::kNoRank);
}

TEST(MergeTable, TheFirstOfEqualPairsCounts) {
  const MergeEntry entries[] = {{.left = 1, .right = 2, .merge = {.rank = 5, .product = 9}},
                                {.left = 1, .right = 2, .merge = {.rank = 8, .product = 10}}};
  EXPECT_EQ(MergeTable(entries).find(1, 2).rank, 5U);
}

TEST(MergeTable, NoTokenMergesWithNothing) {
  const MergeEntry entries[] = {{.left = 1, .right = 2, .merge = {.rank = 5, .product = 9}}};
  const MergeTable table(entries);
  EXPECT_EQ(table.find(kNoToken, 2).rank, Merge::kNoRank);
  EXPECT_EQ(table.find(1, kNoToken).rank, Merge::kNoRank);
  EXPECT_EQ(MergeTable().find(1, 2).rank, Merge::kNoRank);
  EXPECT_EQ(MergeTable(std::span<const MergeEntry>()).find(1, 2).rank, Merge::kNoRank);
}

}  // namespace
}  // namespace plm
