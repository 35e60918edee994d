#include "text/display_width.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(DisplayWidth, IsThatOfATerminal) {
  for (const char* narrow : {"a", " ", "é", "ß", "░", "·"}) EXPECT_EQ(display_width(narrow), 1U) << narrow;
  for (const char* wide : {"漢", "한", "😀", "Ａ"}) EXPECT_EQ(display_width(wide), 2U) << wide;
  for (const char* nothing : {"\xcc\x81", "\xe2\x80\x8b"}) EXPECT_EQ(display_width(nothing), 0U);
}

}  // namespace
}  // namespace plm
