#include "text/special_tokens.h"

#include <gtest/gtest.h>

#include "text/vocabulary.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

Vocabulary load(const GgufWriter& writer) { return Vocabulary::load(file_of(writer)).value(); }

TEST(SpecialTokens, AreThoseThatTheFileNames) {
  GgufWriter writer = VocabularyFields{.tokens = {"a", "b", "c", "d"}}.writer();
  writer.add_u32("tokenizer.ggml.bos_token_id", 1);
  writer.add_u32("tokenizer.ggml.eos_token_id", 2);
  writer.add_u32("tokenizer.ggml.seperator_token_id", 3);
  writer.add_u32("tokenizer.ggml.prefix_token_id", 0);
  const Vocabulary vocabulary = load(writer);
  EXPECT_EQ(vocabulary.special(SpecialToken::bos), 1);
  EXPECT_EQ(vocabulary.special(SpecialToken::eos), 2);
  EXPECT_EQ(vocabulary.special(SpecialToken::separator), 3);
  EXPECT_EQ(vocabulary.special(SpecialToken::fim_prefix), 0);
  EXPECT_EQ(vocabulary.special(SpecialToken::mask), std::nullopt);
  EXPECT_TRUE(vocabulary.ends_generation(2));
  EXPECT_FALSE(vocabulary.ends_generation(1));
}

TEST(SpecialTokens, AreFoundByTextWhereTheFileIsSilent) {
  const Vocabulary vocabulary = load(VocabularyFields{
      .tokens = {"<|im_end|>", "<|fim_prefix|>", "<fim_suffix>", "<|endoftext|>", "<｜fim▁end｜>", "<|file_sep|>"},
      .types = {3, 4, 3, 3, 3, 3}}.writer());
  EXPECT_EQ(vocabulary.special(SpecialToken::eot), 0);
  EXPECT_EQ(vocabulary.special(SpecialToken::fim_prefix), 1);
  EXPECT_EQ(vocabulary.special(SpecialToken::fim_suffix), 2);
  EXPECT_EQ(vocabulary.special(SpecialToken::fim_middle), 4);
  const auto ending = vocabulary.end_of_generation();
  EXPECT_EQ(Ids(ending.begin(), ending.end()), (Ids{0, 3, 5}));
}

TEST(SpecialTokens, TheFilesWordCountsMoreThanTheText) {
  GgufWriter writer = VocabularyFields{.tokens = {"<|im_end|>", "<turn>"}, .types = {3, 3}}.writer();
  writer.add_u32("tokenizer.ggml.eot_token_id", 1);
  const Vocabulary vocabulary = load(writer);
  EXPECT_EQ(vocabulary.special(SpecialToken::eot), 1);
  EXPECT_TRUE(vocabulary.ends_generation(0) && vocabulary.ends_generation(1));
}

TEST(SpecialTokens, ACheckpointMayListSeveralEnds) {
  GgufWriter writer = VocabularyFields{.tokens = {"a", "b", "c"}}.writer();
  writer.add_u32("tokenizer.ggml.eos_token_id", 2);
  writer.add_u32s("tokenizer.ggml.eos_token_ids", std::vector<std::uint32_t>{2, 0});
  const auto vocabulary = load(writer);
  const auto ending = vocabulary.end_of_generation();
  EXPECT_EQ(Ids(ending.begin(), ending.end()), (Ids{0, 2}));
  writer.add_u32s("tokenizer.ggml.eos_token_ids", std::vector<std::uint32_t>{3});
  EXPECT_NE(Vocabulary::load(file_of(writer)).error().message.find("eos_token_ids: 3 is outside"), std::string::npos);
}

TEST(SpecialTokens, OrdinaryTextIsNoMarker) {
  const Vocabulary vocabulary = load(VocabularyFields{.tokens = {"<|im_end|>", "<EOT>"}, .types = {1, 1}}.writer());
  EXPECT_EQ(vocabulary.special(SpecialToken::eot), std::nullopt);
  EXPECT_TRUE(vocabulary.end_of_generation().empty());
}

TEST(SpecialTokens, InHarmonyTheEndOfAMessageIsNotTheEnd) {
  const Vocabulary vocabulary =
      load(VocabularyFields{.tokens = {"<|end|>", "<|return|>", "<|call|>"}, .types = {3, 3, 3}}.writer());
  EXPECT_FALSE(vocabulary.ends_generation(0));
  EXPECT_TRUE(vocabulary.ends_generation(1));
  EXPECT_TRUE(vocabulary.ends_generation(2));
  EXPECT_TRUE(load(VocabularyFields{.tokens = {"<|end|>"}, .types = {3}}.writer()).ends_generation(0));
}

TEST(SpecialTokens, IdsLieInTheVocabulary) {
  for (const std::uint32_t id : {2U, 0x80000000U, 0xFFFFFFFFU}) {
    GgufWriter writer = VocabularyFields{.tokens = {"a", "b"}}.writer();
    writer.add_u32("tokenizer.ggml.unknown_token_id", id);
    const auto error = Vocabulary::load(file_of(writer)).error();
    EXPECT_EQ(error.kind, ErrorKind::bad_input);
    EXPECT_EQ(error.message, fmt::format("m.gguf: tokenizer.ggml.unknown_token_id: {} is outside the vocabulary of 2 "
                                         "tokens; convert the model again",
                                         id));
  }
  GgufWriter writer = VocabularyFields{.tokens = {"a", "b"}}.writer();
  writer.add_string("tokenizer.ggml.bos_token_id", "<s>");
  EXPECT_NE(Vocabulary::load(file_of(writer)).error().message.find("tokenizer.ggml.bos_token_id"), std::string::npos);
}

}  // namespace
}  // namespace plm
