#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "text/vocabulary_file.h"

namespace plm {
namespace {

std::vector<std::string> pieces_of(std::span<const std::string_view> expressions, std::string_view text) {
  Pieces pieces(text);
  EXPECT_TRUE(PreTokenizer::compile(expressions).value().cut(pieces).has_value());
  return {pieces.list().begin(), pieces.list().end()};
}

std::vector<std::string> pieces_of(std::string_view name, std::string_view text) {
  return pieces_of(find_pre_tokenizer(name)->expressions, text);
}

using Words = std::vector<std::string>;

TEST(PreTokenizer, CutsAsTheModelsWereTrained) {
  EXPECT_EQ(pieces_of("gpt-2", "It's 1234  days, \n ok"),
            (Words{"It", "'s", " 1234", " ", " days", ",", " \n", " ok"}));
  EXPECT_EQ(pieces_of("smollm", "a 12 b"), (Words{"a", " ", "1", "2", " b"}));
  EXPECT_EQ(pieces_of("llama-bpe", "It'S 12345\n\n\nx(y)"),
            (Words{"It", "'S", " ", "123", "45", "\n\n\n", "x", "(y", ")"}));
  EXPECT_EQ(pieces_of("qwen2", "12 a\t\tb"), (Words{"1", "2", " a", "\t", "\tb"}));
  EXPECT_EQ(pieces_of("falcon", "1234567"), (Words{"123", "456", "7"}));
}

// The names that came last; what they do with numbers, cases and scripts is what tells them apart.
TEST(PreTokenizer, NewerNamesCutAsTheirFilesSay) {
  EXPECT_EQ(pieces_of("kimi-k2", "HelloWorld 你好ab 1234"),
            (Words{"Hello", "World", " ", "你好", "ab", " ", "123", "4"}));
  EXPECT_EQ(pieces_of("afmoe", "1234567 12 123"), (Words{"1", "234", "567", " ", "12", " ", "123"}));
  EXPECT_EQ(pieces_of("afmoe", "a中b"), (Words{"a", "中", "b"}));
  EXPECT_EQ(pieces_of("laguna", "a\n\nb 12"), (Words{"a", "\n\n", "b", " ", "1", "2"}));
  EXPECT_EQ(pieces_of("ufakzeka", "Ankara'da"), (Words{"Ankara", "'da"}));
  EXPECT_EQ(pieces_of("jais-2", "a       b"), (Words{"a", "    ", "  ", " b"}));
  EXPECT_EQ(pieces_of("minicpm5", "a12345"), (Words{"a", "123", "45"}));
  EXPECT_EQ(pieces_of("spark2_5", "a\n\nb"), (Words{"a", "\n", "\n", "b"}));
  EXPECT_EQ(pieces_of("granite-embed-multi-97m", "helloWorld कि"), (Words{"hello", "World", " कि"}));
  EXPECT_EQ(find_pre_tokenizer("glm5")->whole_pieces, true);
  EXPECT_EQ(find_pre_tokenizer("talkie"), find_pre_tokenizer("gpt-4o"));
}

// A million digits are cut without walking them again and again.
TEST(PreTokenizer, LongNumbersTakeLinearTime) {
  const std::string digits(1'000'000, '7');
  Pieces pieces(digits);
  ASSERT_TRUE(PreTokenizer::compile(find_pre_tokenizer("afmoe")->expressions).value().cut(pieces).has_value());
  EXPECT_EQ(pieces.list().size(), 333'334U);
}

TEST(PreTokenizer, PiecesJoinToTheText) {
  for (const std::string_view name :
       {"default", "gpt-2", "smollm", "falcon", "llama-bpe", "qwen2", "qwen35", "deepseek-llm", "deepseek-coder",
        "kimi-k2", "afmoe", "laguna", "jais-2", "spark2_5", "granite-embed-multi-97m"}) {
    const PreTokenizer pre_tokenizer = PreTokenizer::compile(find_pre_tokenizer(name)->expressions).value();
    for (const Json& string : tiny_bpe_golden().at("strings")) {
      const auto text = string.get<std::string>();
      Pieces pieces(text);
      ASSERT_TRUE(pre_tokenizer.cut(pieces).has_value());
      std::string joined;
      for (const std::string_view piece : pieces.list()) {
        EXPECT_FALSE(piece.empty());
        joined += piece;
      }
      EXPECT_EQ(joined, text) << name;
    }
  }
}

TEST(PreTokenizer, WhatLiesBetweenMatchesIsAPieceAndIsCutFurther) {
  constexpr std::string_view kDigitsThenB[] = {"[0-9]+", "b"};
  EXPECT_EQ(pieces_of(kDigitsThenB, "ab12bc"), (Words{"a", "b", "12", "b", "c"}));
  EXPECT_EQ(pieces_of(kDigitsThenB, ""), Words{});
  EXPECT_EQ(pieces_of(std::span<const std::string_view>(), "whole"), Words{"whole"});
}

TEST(PreTokenizer, AnEmptyMatchCutsAndGoesOn) {
  constexpr std::string_view kGroupsOfThree[] = {R"((?=(\d{3})+(?!\d)))"};
  EXPECT_EQ(pieces_of(kGroupsOfThree, "1234567"), (Words{"1", "234", "567"}));
  constexpr std::string_view kEverywhere[] = {""};
  EXPECT_EQ(pieces_of(kEverywhere, "é中"), (Words{"é", "中"}));
}

TEST(PreTokenizer, NamesAreFoundWholeOnly) {
  EXPECT_NE(find_pre_tokenizer("llama3"), nullptr);
  EXPECT_EQ(find_pre_tokenizer("llama3"), find_pre_tokenizer("llama-bpe"));
  for (const std::string_view name : {"", "llama", "gpt-2, phi-2", "nosuch"})
    EXPECT_EQ(find_pre_tokenizer(name), nullptr);
  EXPECT_NE(pre_tokenizer_names().find("smollm"), std::string::npos);
}

TEST(PreTokenizer, ExpressionsThatDoNotCompileAreRefused) {
  constexpr std::string_view kBroken[] = {"a", "(b"};
  EXPECT_FALSE(PreTokenizer::compile(kBroken).has_value());
}

TEST(PreTokenizer, ExceedingTheLimitsIsAnError) {
  constexpr std::string_view kHostile[] = {"(a+)+$"};
  const std::string text = std::string(60, 'a') + 'b';
  Pieces pieces(text);
  EXPECT_FALSE(PreTokenizer::compile(kHostile).value().cut(pieces).has_value());
}

}  // namespace
}  // namespace plm
