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

TEST(PreTokenizer, PiecesJoinToTheText) {
  for (const std::string_view name :
       {"default", "gpt-2", "smollm", "falcon", "llama-bpe", "qwen2", "qwen35", "deepseek-llm", "deepseek-coder"}) {
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
