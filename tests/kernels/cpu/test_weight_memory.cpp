#include "kernels/cpu/weight_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace plm {
namespace {

TEST(WeightMemory, PiecesAreAlignedZeroedAndApart) {
  WeightMemory memory;
  std::vector<WeightMemory::Piece> pieces;
  for (const std::size_t bytes : {1UL, 64UL, 100UL, 3UL << 20, 65UL << 20, 63UL << 20, 2UL << 20, 5UL}) {
    auto piece = memory.take(bytes);
    ASSERT_TRUE(piece) << bytes;
    EXPECT_EQ(piece->bytes.size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece->bytes.data()) % AlignedBuffer::kAlignment, 0U);
    EXPECT_EQ(piece->bytes.front(), std::byte{0});
    EXPECT_EQ(piece->bytes.back(), std::byte{0});
    pieces.push_back(*piece);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].bytes.front() = pieces[i].bytes.back() = std::byte{static_cast<unsigned char>(i + 1)};
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].bytes.front(), std::byte{static_cast<unsigned char>(i + 1)});
    EXPECT_EQ(pieces[i].bytes.back(), std::byte{static_cast<unsigned char>(i + 1)});
  }
}

TEST(WeightMemory, SmallPiecesShareABlockThatOutlivesThem) {
  WeightMemory memory;
  auto first = memory.take(1000).value();
  auto second = memory.take(1000).value();
  EXPECT_EQ(first.block, second.block);
  memory = {};
  first = {};
  second.bytes.back() = std::byte{7};
  EXPECT_EQ(second.block.use_count(), 1);
}

TEST(WeightMemory, SaysWhenThereIsNoRoom) {
  WeightMemory memory;
  const auto piece = memory.take(std::size_t{1} << 62);
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().kind, ErrorKind::no_room);
}

}  // namespace
}  // namespace plm
