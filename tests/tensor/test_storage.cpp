#include "tensor/storage.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

/// A storage of which only the size matters.
class SizeOnly : public Storage {
 public:
  explicit SizeOnly(std::size_t size) : size_(size) {}
  [[nodiscard]] std::size_t size() const override { return size_; }

 private:
  std::size_t size_;
};

const StorageType& type_named(std::string_view name) { return *find_storage_type(name); }

TEST(View, DenseRowsFollowEachOther) {
  SizeOnly storage(1000);
  const View plain = dense_view(storage, 10, 25);
  EXPECT_EQ(plain.storage, &storage);
  EXPECT_EQ(plain.type, &quant_f32);
  EXPECT_EQ(plain.offset, 0U);
  EXPECT_EQ(plain.row_stride, 100U);

  const View packed = dense_view(storage, 3, 64, type_named("q4_0"), 20);
  EXPECT_EQ(packed.offset, 20U);
  EXPECT_EQ(packed.row_stride, 36U);
}

TEST(View, RowRangeMovesByTheStride) {
  SizeOnly storage(1000);
  const View all = dense_view(storage, 10, 20, quant_f32, 40);
  const View part = all.row_range(3, 4);
  EXPECT_EQ(part.offset, 40U + 3 * 80);
  EXPECT_EQ(part.rows, 4U);
  EXPECT_EQ(part.columns, 20U);
  EXPECT_EQ(part.row_stride, 80U);
  EXPECT_EQ(all.row_range(10, 0).rows, 0U);
}

TEST(View, ColumnRangeKeepsTheStride) {
  SizeOnly storage(1000);
  const View part = dense_view(storage, 10, 20).column_range(5, 7);
  EXPECT_EQ(part.offset, 20U);
  EXPECT_EQ(part.rows, 10U);
  EXPECT_EQ(part.columns, 7U);
  EXPECT_EQ(part.row_stride, 80U);
}

TEST(View, ColumnRangeCountsWholeQuantBlocks) {
  SizeOnly storage(1000);
  const View part = dense_view(storage, 4, 128, type_named("q8_0")).column_range(64, 32);
  EXPECT_EQ(part.offset, 68U);
  EXPECT_EQ(part.columns, 32U);
  EXPECT_EQ(part.row_stride, 136U);
}

TEST(View, RangesOfRangesAddUp) {
  SizeOnly storage(1000);
  const View all = dense_view(storage, 10, 20, quant_f16);
  const View once = all.row_range(4, 2).column_range(8, 4);
  const View twice = all.row_range(1, 8).column_range(2, 12).row_range(3, 2).column_range(6, 4);
  EXPECT_EQ(once.offset, 4U * 40 + 16);
  EXPECT_EQ(twice.offset, once.offset);
  EXPECT_EQ(twice.rows, once.rows);
  EXPECT_EQ(twice.columns, once.columns);
}

TEST(ViewDeathTest, RangesOutsideAreOurOwnBug) {
  SizeOnly storage(1000);
  const View all = dense_view(storage, 4, 64, type_named("q4_0"));
  EXPECT_DEATH(static_cast<void>(all.row_range(3, 2)), "rows");
  EXPECT_DEATH(static_cast<void>(all.column_range(64, 32)), "columns");
  EXPECT_DEATH(static_cast<void>(all.column_range(16, 32)), "block_size");
  EXPECT_DEATH(static_cast<void>(dense_view(storage, 100, 64)), "size");
}

}  // namespace
}  // namespace plm
