#include "format/byte_cursor.h"

#include <gtest/gtest.h>

#include "raw_gguf.h"

namespace plm {
namespace {

TEST(ByteCursor, ReadsInOrderAndCounts) {
  const std::string bytes = raw_u32(7) + raw_string("abc") + raw(std::uint8_t{1});
  ByteCursor cursor(as_file(bytes));
  EXPECT_EQ(cursor.number<std::uint32_t>("n").value(), 7U);
  EXPECT_EQ(cursor.string("s").value(), "abc");
  EXPECT_EQ(cursor.position(), 15U);
  EXPECT_EQ(cursor.remaining(), 1U);
}

TEST(ByteCursor, NeverPassesTheEnd) {
  const std::string bytes = raw_u32(7);
  ByteCursor cursor(as_file(bytes));
  const auto number = cursor.number<std::uint64_t>("the count");
  ASSERT_FALSE(number);
  EXPECT_NE(number.error().message.find("the count takes 8 bytes at byte 0, where 4 are left"), std::string::npos);
  EXPECT_EQ(cursor.position(), 0U);  // a refused read takes nothing
}

TEST(ByteCursor, StringLengthsThatWouldWrapAreRefused) {
  for (const std::uint64_t length :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 7, std::uint64_t{1} << 63, std::uint64_t{4}}) {
    const std::string bytes = raw_string("abc", length);
    ByteCursor cursor(as_file(bytes));
    EXPECT_FALSE(cursor.string("s")) << length;
  }
}

TEST(ByteCursor, StringsInARowAreOneStretch) {
  const std::string bytes = raw_string("abc") + raw_string("") + raw_string("d") + raw_string("xy", 3);
  ByteCursor cursor(as_file(bytes));
  EXPECT_EQ(cursor.strings(3, "s").value().size(), 28U);
  EXPECT_EQ(cursor.position(), 28U);
  EXPECT_NE(cursor.strings(1, "the last").error().message.find("the last takes 3 bytes at byte 36, where 2 are left"),
            std::string::npos);
  EXPECT_TRUE(cursor.strings(0, "s").value().empty());
}

}  // namespace
}  // namespace plm
