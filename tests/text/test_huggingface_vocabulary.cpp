#include "text/huggingface_vocabulary.h"

#include <gtest/gtest.h>

#include "text/tokenizer.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

struct Written {
  std::shared_ptr<const GgufFile> file;
  std::vector<std::string> warnings;
};

// What a GGUF file says of the texts.
Written written(std::string_view json, std::string_view config = "", std::size_t row_count = 0) {
  Written result;
  GgufWriter writer;
  const auto tokenizer = HuggingfaceTokenizer::parse(json, "d").value();
  EXPECT_TRUE(add_ggml_vocabulary(tokenizer, {json, config, {}, "d"}, row_count, writer, result.warnings).has_value());
  result.file = file_of(writer);
  return result;
}

constexpr std::string_view kBytes = R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "added_tokens": [{"id": 4, "content": "</s>", "special": true}, {"id": 5, "content": "x y"}]})";

TEST(HuggingfaceVocabulary, ByteLevelBpeIsGpt2) {
  const Written result = written(kBytes, R"({"eos_token": "</s>", "chat_template": "t"})", 7);
  const Vocabulary vocabulary = Vocabulary::load(result.file).value();
  EXPECT_EQ(vocabulary.kind().kind, TokenizerKind::byte_bpe);
  EXPECT_EQ(vocabulary.pre_tokenizer_name(), "gpt-2");
  EXPECT_EQ(vocabulary.size(), 7U);
  EXPECT_EQ(vocabulary.text(3), "[PAD3]");
  EXPECT_EQ(vocabulary.type(3), TokenType::unused);
  EXPECT_EQ(vocabulary.type(4), TokenType::control);
  EXPECT_EQ(vocabulary.type(5), TokenType::user_defined);
  EXPECT_EQ(vocabulary.special(SpecialToken::eos), 4);
  EXPECT_EQ(vocabulary.chat_template(), "t");
  EXPECT_FALSE(vocabulary.adds_bos() || vocabulary.adds_eos());
  EXPECT_TRUE(result.warnings.empty());
}

TEST(HuggingfaceVocabulary, APreTokenizerWithoutANameIsTold) {
  const Written result = written(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "pre_tokenizer":
    {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "q"}, "behavior": "Isolated"},
     {"type": "ByteLevel", "use_regex": false, "add_prefix_space": false}]}})");
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_TRUE(result.warnings[0].starts_with("d: tokenizer.json: pre_tokenizer: no name in GGUF stands for it"));
}

TEST(HuggingfaceVocabulary, WordPieceMarksWhatBeginsAWord) {
  const Written result = written(R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2},
      "unk_token": "[UNK]"}, "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}]})");
  const auto texts = result.file->string_array("tokenizer.ggml.tokens")->views();
  EXPECT_EQ(texts, (std::vector<std::string_view>{"[UNK]", "▁a", "b"}));
  EXPECT_EQ(result.file->string_value("tokenizer.ggml.model").value(), "bert");
}

TEST(HuggingfaceVocabulary, MergesOfCharactersBecomeScores) {
  const Written result = written(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "ba": 3, "<0x0A>": 4},
      "merges": ["b a", "a b"], "byte_fallback": true, "unk_token": null}})");
  EXPECT_EQ(result.file->f32_array("tokenizer.ggml.scores").value(), (std::vector<float>{0, 0, -2, -1, 0}));
  EXPECT_EQ(result.file->integer_array("tokenizer.ggml.token_type").value()[4], 6);
}

// The character map goes along, for programs that read GGUF only, and so do spaces in a row.
TEST(HuggingfaceVocabulary, UnigramTakesItsNormaliserAlong) {
  const Written result = written(R"({"model": {"type": "Unigram", "vocab": [["<unk>", 0], ["▁a", -1]], "unk_id": 0},
      "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}})");
  EXPECT_EQ(result.file->integer_array("tokenizer.ggml.precompiled_charsmap").value(),
            (std::vector<std::int64_t>{4, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(result.file->boolean_value("tokenizer.ggml.remove_extra_whitespaces").value());
  EXPECT_EQ(Tokenizer::load(result.file).value()->encode("a", {.add_special = false}).value(), Ids{0})
      << "no mark in front";
}

TEST(HuggingfaceVocabulary, APatternOfAnyShapeIsNoTrouble) {
  const auto loaded = Tokenizer::load_huggingface(
      R"({"model": {"type": "Unigram", "vocab": [["a", 0]]}, "normalizer": {"type": "Replace", "pattern": "x"}})", "",
      "d");
  EXPECT_TRUE(loaded.error().message.starts_with("d: tokenizer.json: normalizer: pattern is missing"));
}

TEST(HuggingfaceVocabulary, ValuesThatTheFileHasAlreadyStay) {
  GgufWriter given;
  given.add_string(kHuggingfaceTokenizerKey, kBytes);
  given.add_string("tokenizer.chat_template", "mine");
  const auto file = file_of(given);
  EXPECT_TRUE(has_huggingface_tokenizer(*file));
  EXPECT_EQ(Tokenizer::load(file).value()->vocabulary().chat_template(), "mine");
}

}  // namespace
}  // namespace plm
