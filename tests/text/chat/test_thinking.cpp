#include "text/chat/thinking.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

const ThinkingTags kTags{"<think>", "</think>"};

// The two parts, as "thinking|answer", for every way to cut the text in two, which must agree.
std::string parted(std::string_view text, bool begins_thinking = false) {
  std::string result;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    ThinkingSplitter splitter(kTags, begins_thinking);
    ThinkingSplitter::Parts all;
    for (const std::string_view piece : {text.substr(0, cut), text.substr(cut)}) {
      const auto parts = splitter.push(piece);
      all.thinking += parts.thinking;
      all.answer += parts.answer;
    }
    const auto rest = splitter.finish();
    const std::string now = all.thinking + rest.thinking + "|" + all.answer + rest.answer;
    EXPECT_TRUE(cut == 0 || now == result) << "cut at " << cut << ": " << now;
    result = now;
  }
  return result;
}

TEST(ThinkingSplitter, PartsAtTheTags) {
  EXPECT_EQ(parted("<think>\nso 1+1\nis 2\n</think>\n\n2."), "so 1+1\nis 2|2.");
  EXPECT_EQ(parted(" \n<think>a</think> b</think>"), "a|b</think>");
  EXPECT_EQ(parted("<think></think>b"), "|b");
}

TEST(ThinkingSplitter, OnlyTheFirstThingOfAnAnswerBeginsThinking) {
  EXPECT_EQ(parted("no <think>x</think>"), "|no <think>x</think>");
  EXPECT_EQ(parted("  indented"), "|  indented");
  EXPECT_EQ(parted("<thin"), "|<thin");
  EXPECT_EQ(parted(""), "|");
}

TEST(ThinkingSplitter, GoesOnWhereThePromptLeftItOpen) {
  EXPECT_EQ(parted("\nhm\n</think>\nyes", true), "hm|yes");
  EXPECT_EQ(parted("never ends </thi", true), "never ends </thi|");
}

TEST(ThinkingSplitter, HoldsBackNoMoreThanItMust) {
  ThinkingSplitter splitter(kTags);
  EXPECT_EQ(splitter.push("<think>a b").thinking, "a b");
  EXPECT_TRUE(splitter.is_thinking());
  EXPECT_EQ(splitter.push(" <").thinking, "");
  EXPECT_EQ(splitter.push("b").thinking, " <b");
  EXPECT_EQ(splitter.push("</think>").answer, "");
  EXPECT_EQ(splitter.push("x").answer, "x");
}

TEST(ThinkingSplitter, WithoutTagsAllIsAnswer) {
  ThinkingSplitter splitter(std::nullopt);
  EXPECT_EQ(splitter.push("<think>a").answer, "<think>a");
}

}  // namespace
}  // namespace plm
