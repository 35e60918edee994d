#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace plm {
namespace {

TEST(AlignedBuffer, IsAlignedZeroedAndWritable) {
  for (const std::size_t bytes : {1UL, 63UL, 64UL, 65UL, 4096UL, (2UL << 20) - 1, 2UL << 20, (2UL << 20) + 1}) {
    auto buffer = AlignedBuffer::allocate(bytes);
    ASSERT_TRUE(buffer) << bytes;
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % AlignedBuffer::kAlignment, 0U);
    EXPECT_TRUE(std::all_of(buffer->data(), buffer->data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::fill_n(buffer->data(), bytes, std::byte{0xAB});
    EXPECT_EQ(buffer->data()[bytes - 1], std::byte{0xAB});
  }
}

TEST(AlignedBuffer, EmptyHasNoMemory) {
  EXPECT_EQ(AlignedBuffer().data(), nullptr);
  const auto buffer = AlignedBuffer::allocate(0);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->data(), nullptr);
  EXPECT_EQ(buffer->size(), 0U);
}

TEST(AlignedBuffer, MovesItsMemory) {
  for (const std::size_t bytes : {100UL, 3UL << 20}) {  // heap and map
    auto first = AlignedBuffer::allocate(bytes);
    ASSERT_TRUE(first);
    const std::byte* memory = first->data();
    AlignedBuffer second = std::move(*first);
    EXPECT_EQ(second.data(), memory);
    EXPECT_EQ(second.size(), bytes);
    second = AlignedBuffer::allocate(64).value();
    EXPECT_NE(second.data(), nullptr);
  }
}

TEST(AlignedBuffer, SaysWhenThereIsNoRoom) {
  for (const std::size_t bytes : {std::size_t{1} << 62, std::numeric_limits<std::size_t>::max()}) {
    const auto buffer = AlignedBuffer::allocate(bytes);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().kind, ErrorKind::no_room);
    EXPECT_NE(buffer.error().message.find(std::to_string(bytes)), std::string::npos);
  }
}

}  // namespace
}  // namespace plm
