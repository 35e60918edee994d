#include "text/pieces.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

using Words = std::vector<std::string>;

Words cut(std::string_view text, SplitBehavior behavior, bool invert = false) {
  Pieces pieces(text);
  EXPECT_TRUE(split(pieces, find_text("-"), behavior, invert).has_value());
  return {pieces.list().begin(), pieces.list().end()};
}

// The example of the documentation of Hugging Face tokenizers.
TEST(Pieces, EveryBehaviorIsTheLibrarys) {
  const std::string_view text = "the-final--countdown";
  EXPECT_EQ(cut(text, SplitBehavior::removed), (Words{"the", "final", "countdown"}));
  EXPECT_EQ(cut(text, SplitBehavior::isolated), (Words{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(cut(text, SplitBehavior::merged_with_previous), (Words{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(cut(text, SplitBehavior::merged_with_next), (Words{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(cut(text, SplitBehavior::contiguous), (Words{"the", "-", "final", "--", "countdown"}));
}

TEST(Pieces, InvertedWhatLiesBetweenIsTheMatch) {
  EXPECT_EQ(cut("a-b", SplitBehavior::removed, true), Words{"-"});
  EXPECT_EQ(cut("a-b", SplitBehavior::isolated, true), (Words{"a", "-", "b"}));
}

TEST(Pieces, EmptyOnesAreNeverKept) {
  for (const std::string_view text : {"", "-", "--"}) EXPECT_EQ(cut(text, SplitBehavior::removed), Words{});
  EXPECT_EQ(cut("", SplitBehavior::isolated), Words{});
}

TEST(Pieces, KnowWhetherTheyBeginTheText) {
  for (const auto& [text, begins] : {std::pair<std::string_view, bool>{"a-b", true}, {"-a", false}, {"-", false}}) {
    Pieces pieces(text);
    ASSERT_TRUE(split(pieces, find_text("-"), SplitBehavior::removed).has_value());
    EXPECT_EQ(pieces.begins_text(), begins) << text;
  }
  EXPECT_FALSE(Pieces("a", false).begins_text());
}

TEST(Pieces, AreCutAgainOneByOne) {
  Pieces pieces("a1b-c2");
  ASSERT_TRUE(split(pieces, find_text("-"), SplitBehavior::removed).has_value());
  const auto is_digit = [](char32_t c) { return c >= U'0' && c <= U'9'; };
  ASSERT_TRUE(split(pieces, find_characters(is_digit), SplitBehavior::isolated).has_value());
  EXPECT_EQ(Words(pieces.list().begin(), pieces.list().end()), (Words{"a", "1", "b", "c", "2"}));
  EXPECT_EQ(pieces.keep("text of its own"), "text of its own");
}

}  // namespace
}  // namespace plm
