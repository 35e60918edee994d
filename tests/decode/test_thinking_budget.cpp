#include "decode/thinking_budget.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/conformance.h"

namespace plm {
namespace {

TEST(ThinkingBudget, SizesAreReadAsTheReferenceReadsThem) {
  for_each_case("budget_spec", [](const Json& input, const Json& expected) {
    const auto size = BudgetSize::parse(input["text"].get<std::string>());
    ASSERT_EQ(size.has_value(), !expected.is_object());
    if (!size.has_value()) return;
    const auto tokens = size->tokens(input["conversation_tokens"].get<std::size_t>());
    ASSERT_EQ(tokens.has_value(), !expected.is_null());
    if (tokens.has_value()) {
      EXPECT_EQ(*tokens, expected.get<std::size_t>());
    }
  });
}

TEST(ThinkingBudget, WhatIsNoSizeIsRefused) {
  for (const char* text : {"", "-2", "4000+1", "0.5+", "0.5+1.5", "1e9", "0x10", " 5", "5 ", "0.", "nan", "99999999999",
                           "0.5+-3", "--1", "+1", "1.5.2"}) {
    const auto size = BudgetSize::parse(text);
    ASSERT_FALSE(size.has_value()) << text;
    EXPECT_EQ(size.error().kind, ErrorKind::usage);
  }
}

TEST(ThinkingBudget, ClosesWhereTheReferenceCloses) {
  for_each_case("budget_machine", [](const Json& input, const Json& expected) {
    BudgetRules rules{.begin = input["start"].get<std::vector<TokenId>>(),
                      .end = input["end"].get<std::vector<TokenId>>(),
                      .closing = input["forced"].get<std::vector<TokenId>>(),
                      .scope = input["scope"] == "block" ? BudgetScope::block : BudgetScope::turn};
    if (!input["budget"].is_null()) rules.tokens = input["budget"].get<std::size_t>();
    ThinkingBudget budget(std::move(rules));
    std::vector<TokenId> stream;
    for (const Json& token : input["model_tokens"]) {
      stream.push_back(token.get<TokenId>());
      const auto closing = budget.feed(stream.back());
      stream.insert(stream.end(), closing.begin(), closing.end());
    }
    EXPECT_EQ(stream, expected["stream"].get<std::vector<TokenId>>());
    EXPECT_EQ(budget.forced_ends(), expected["forced_closes"].get<std::size_t>());
    EXPECT_EQ(budget.used(), expected["used"].get<std::size_t>());
  });
}

TEST(ThinkingBudget, GraceWaitsForAGoodPlace) {
  ThinkingBudget budget({.begin = {1}, .end = {2}, .closing = {90, 2}, .tokens = 2, .grace = 4});
  budget.feed(1);
  EXPECT_TRUE(budget.feed(10).empty());
  EXPECT_FALSE(budget.may_close(CutPlace::line));
  EXPECT_TRUE(budget.feed(10).empty());
  EXPECT_TRUE(budget.may_close(CutPlace::line));
  EXPECT_FALSE(budget.may_close(CutPlace::word));
  budget.feed(10);
  budget.feed(10);
  EXPECT_TRUE(budget.may_close(CutPlace::word));
  EXPECT_FALSE(budget.may_close(CutPlace::letters));
  for (int i = 0; i < 18; ++i) budget.feed(10);
  EXPECT_TRUE(budget.may_close(CutPlace::letters));
  EXPECT_FALSE(budget.may_close(CutPlace::character));
  EXPECT_EQ(budget.close().size(), 2U);
  EXPECT_FALSE(budget.is_inside());
  EXPECT_EQ(budget.forced_ends(), 1U);
}

TEST(ThinkingBudget, PlacesAreToldByBothSides) {
  EXPECT_EQ(cut_place("wor", "ld"), CutPlace::letters);
  EXPECT_EQ(cut_place("word", " next"), CutPlace::word);
  EXPECT_EQ(cut_place("word", ","), CutPlace::word);
  EXPECT_EQ(cut_place("done.", " Next"), CutPlace::line);
  EXPECT_EQ(cut_place("3.", "14"), CutPlace::word);
  EXPECT_EQ(cut_place("done. ", "Next"), CutPlace::line);
  EXPECT_EQ(cut_place("line\n", "next"), CutPlace::line);
  EXPECT_EQ(cut_place("line", "\n"), CutPlace::line);
  EXPECT_EQ(cut_place("na\xC3", "\xAF"), CutPlace::character);
  EXPECT_EQ(cut_place("na\xC3\xAF", "ve"), CutPlace::letters);
  EXPECT_EQ(cut_place("", "x"), CutPlace::line);
}

TEST(ThinkingBudget, APromptMayEndInside) {
  ThinkingBudget budget({.begin = {1}, .end = {2}, .closing = {2}, .tokens = 1});
  EXPECT_TRUE(budget.begin_inside().empty());
  EXPECT_EQ(budget.feed(10).size(), 1U);
  ThinkingBudget none({.begin = {1}, .end = {2}, .closing = {2}, .tokens = 0});
  EXPECT_EQ(none.begin_inside().size(), 1U);
}

TEST(ThinkingBudget, TheRampIsThatOfTheReference) {
  for_each_case("budget_ramp_bias", [](const Json& input, const Json& expected) {
    const BudgetRamp ramp{.soft = input["soft"].get<std::size_t>(),
                          .hard = input["hard"].get<std::size_t>(),
                          .most = input["q_max"].get<double>(),
                          .gamma = input["gamma"].get<double>()};
    const double found = closing_bias(ramp, input["p_close"].get<double>(), input["t"].get<std::size_t>());
    if (expected.is_number()) {
      EXPECT_NEAR(found, expected.get<double>(), 1e-9);
    } else {
      EXPECT_TRUE(std::isinf(found));
    }
  });
}

}  // namespace
}  // namespace plm
