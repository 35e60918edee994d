#include "cli/line_range.h"

#include <gtest/gtest.h>

#include <string>

namespace plm {
namespace {

std::string part(std::string_view text, std::string_view range) {
  const TextPart found = part_of_lines(text, range).value();
  return std::string(text.substr(found.begin, found.end - found.begin));
}

TEST(LineRange, NamesLinesFromOneBothEndsIncluded) {
  for (const std::string_view text : {"a\nbb\n\nd\n", "a\nbb\n\nd"}) {
    EXPECT_EQ(part(text, "1"), "a");
    EXPECT_EQ(part(text, "2:2"), "bb");
    EXPECT_EQ(part(text, "1:2"), "a\nbb");
    EXPECT_EQ(part(text, "3"), "");
    EXPECT_EQ(part(text, "2:4"), "bb\n\nd");
    EXPECT_EQ(part(text, ":2"), "a\nbb");
    EXPECT_EQ(part(text, "3:"), "\nd");
  }
}

TEST(LineRange, WhatIsNoneSaysWhatIs) {
  for (const std::string_view range : {"", ":", "a", "1:b", "1-2", "-1", "1:2:3", "99999999999999999999"}) {
    EXPECT_NE(part_of_lines("a\nb\n", range).error().message.find("10:14"), std::string::npos) << range;
  }
  for (const std::string_view range : {"0", "0:1", "2:1", "3", "1:3", "3:"}) {
    EXPECT_NE(part_of_lines("a\nb\n", range).error().message.find("the text has 2"), std::string::npos) << range;
  }
  EXPECT_FALSE(part_of_lines("", "1").has_value());
}

}  // namespace
}  // namespace plm
