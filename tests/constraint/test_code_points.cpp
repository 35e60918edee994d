#include "constraint/code_points.h"

#include <gtest/gtest.h>

#include <vector>

namespace plm {
namespace {

std::vector<CodePointRange> ranges(const CodePoints& set) { return {set.ranges().begin(), set.ranges().end()}; }

TEST(CodePoints, RangesAreSortedAndJoined) {
  CodePoints set{{'d', 'f'}, {'a', 'b'}, {'c', 'c'}, {'x', 'x'}};
  EXPECT_EQ(ranges(set), (std::vector<CodePointRange>{{'a', 'f'}, {'x', 'x'}}));
  set.add('g', 'w');
  EXPECT_EQ(ranges(set), (std::vector<CodePointRange>{{'a', 'x'}}));
  EXPECT_TRUE(set.contains('a') && set.contains('m') && set.contains('x'));
  EXPECT_FALSE(set.contains('`') || set.contains('y'));
}

TEST(CodePoints, SurrogatesAreNeverInside) {
  const std::vector<CodePointRange> all{{0, 0xD7FF}, {0xE000, 0x10FFFF}};
  EXPECT_EQ(ranges(CodePoints::all()), all);
  EXPECT_EQ(ranges(CodePoints{}.complement()), all);
  EXPECT_EQ(ranges(CodePoints{{0xD7FF, 0xE000}}), (std::vector<CodePointRange>{{0xD7FF, 0xD7FF}, {0xE000, 0xE000}}));
  EXPECT_TRUE((CodePoints{{0xD800, 0xDFFF}}).empty());
  EXPECT_TRUE(CodePoints::all().complement().empty());
}

TEST(CodePoints, ComplementTwiceIsTheSame) {
  const CodePoints set{{0, 0x1F}, {'"', '"'}, {0x10FFFF, 0x10FFFF}};
  EXPECT_EQ(ranges(set.complement().complement()), ranges(set));
  EXPECT_FALSE(set.complement().contains('"'));
}

TEST(CodePoints, PropertiesAreUnicodes) {
  const auto letters = CodePoints::of_property("L");
  ASSERT_TRUE(letters.has_value());
  EXPECT_TRUE(letters->contains('a') && letters->contains(0x65E5) && letters->contains(0xE9));
  EXPECT_FALSE(letters->contains('1') || letters->contains(0x1F600));
  const auto digits = CodePoints::of_property("Nd");
  ASSERT_TRUE(digits.has_value());
  EXPECT_TRUE(digits->contains('7') && digits->contains(0x0660));
  EXPECT_FALSE(digits->contains(0x00BD));
  EXPECT_EQ(ranges(*CodePoints::of_property("Letter")), ranges(*letters));
  EXPECT_EQ(CodePoints::of_property("Klingon").error().kind, ErrorKind::usage);
  EXPECT_FALSE(CodePoints::of_property("").has_value());
}

TEST(CodePoints, AnyCaseAddsTheOtherCase) {
  EXPECT_EQ(ranges(CodePoints{{'b', 'c'}}.any_case()), (std::vector<CodePointRange>{{'B', 'C'}, {'b', 'c'}}));
  EXPECT_TRUE((CodePoints{{0xE9, 0xE9}}).any_case().contains(0xC9));
  EXPECT_EQ(ranges(CodePoints{{'1', '1'}}.any_case()), (std::vector<CodePointRange>{{'1', '1'}}));
}

}  // namespace
}  // namespace plm
