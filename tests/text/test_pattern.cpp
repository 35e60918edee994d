#include "text/pattern.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

std::string first_match(std::string_view expression, std::string_view text, std::size_t from = 0) {
  const Pattern pattern = Pattern::compile(expression).value();
  PatternSearch search(text.size());
  const auto match = pattern.find(text, from, search).value();
  return match ? std::string(text.substr(match->begin, match->end - match->begin)) : "none";
}

TEST(Pattern, KnowsUnicodeProperties) {
  EXPECT_EQ(first_match(R"(\p{L}+)", "12 Größe"), "Größe");
  EXPECT_EQ(first_match(R"(\p{N}+)", "a٣४Ⅷ½"), "٣४Ⅷ½");
  EXPECT_EQ(first_match(R"(\p{L}+)", "...中文字"), "中文字");
  EXPECT_EQ(first_match(R"((?i:'s))", "it'S"), "'S");
}

TEST(Pattern, SpacesAreUnicodesWhiteSpace) {
  for (const std::string_view space : {" ", "\t", "\v", "\u0085", "\u00A0", "\u1680", "\u2003", "\u2028", "\u3000"}) {
    EXPECT_EQ(first_match(R"(\s)", space), space);
    EXPECT_EQ(first_match(R"([^\S])", space), space);
  }
  for (const std::string_view other : {"\u180E", "\u200B", "\u2060", "\x1C", "a"}) {
    EXPECT_EQ(first_match(R"(\s)", other), "none");
    EXPECT_EQ(first_match(R"(\S)", other), other);
  }
  EXPECT_EQ(first_match(R"(\\s)", R"(\s)"), R"(\s)") << "an escaped backslash is no space";
}

TEST(Pattern, DollarIsTheVeryEnd) {
  EXPECT_EQ(first_match(R"(a$)", "a\n"), "none");
  EXPECT_EQ(first_match(R"(\s+$)", "a \n"), " \n");
}

TEST(Pattern, SearchesFromAByteButLooksBehindIt) {
  EXPECT_EQ(first_match(R"(b)", "abab", 2), "b");
  EXPECT_EQ(first_match(R"((?<=a)b)", "ab", 1), "b");
  EXPECT_EQ(first_match(R"(^b)", "ab", 1), "none");
  EXPECT_EQ(first_match(R"(a)", "ab", 2), "none");
}

TEST(Pattern, SaysWhyAnExpressionDoesNotCompile) {
  const auto pattern = Pattern::compile("(unclosed");
  ASSERT_FALSE(pattern.has_value());
  EXPECT_EQ(pattern.error().kind, ErrorKind::bad_input);
  EXPECT_NE(pattern.error().message.find("expression '(unclosed' does not compile: missing closing parenthesis"),
            std::string::npos)
      << pattern.error().message;
}

TEST(Pattern, HostileExpressionsEndInAnError) {
  const Pattern pattern = Pattern::compile("(a+)+$").value();
  const std::string text = std::string(60, 'a') + 'b';
  PatternSearch search(text.size());
  const auto match = pattern.find(text, 0, search);
  ASSERT_FALSE(match.has_value());
  EXPECT_EQ(match.error().kind, ErrorKind::failed);
  EXPECT_NE(match.error().message.find("expression '(a+)+$' on a text of 61 bytes"), std::string::npos);
}

TEST(Pattern, WhatOutgrowsTheFastStackIsInterpreted) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "ab";
  EXPECT_EQ(first_match("(?:(a)|(b))+", text).size(), text.size());
}

}  // namespace
}  // namespace plm
