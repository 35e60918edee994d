#include "text/huggingface_pipeline.h"

#include <gtest/gtest.h>

#include "text/tokenizer.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

namespace fs = std::filesystem;

// A vocabulary of characters with these parts beside the model.
HuggingfaceTokenizer tokenizer_with(std::string_view parts) {
  const std::string json = R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}, )";
  return HuggingfaceTokenizer::parse(json + std::string(parts) + "}", "d").value();
}

std::vector<std::string> pieces_of(std::string_view pre_tokenizer, std::string_view text) {
  const auto tokenizer = tokenizer_with(fmt::format("\"pre_tokenizer\": {}", pre_tokenizer));
  const auto loaded = load_pre_tokenizer(tokenizer);
  if (!loaded) return {loaded.error().message};
  Pieces pieces(text);
  EXPECT_TRUE(loaded->steps.cut(pieces).has_value());
  return {pieces.list().begin(), pieces.list().end()};
}

std::string normalized(std::string_view normalizer, std::string_view text) {
  const auto tokenizer = tokenizer_with(fmt::format("\"normalizer\": {}", normalizer));
  const auto loaded = load_normalizer(tokenizer);
  return loaded ? loaded->apply(text).value() : loaded.error().message;
}

using Words = std::vector<std::string>;

TEST(HuggingfacePipeline, PreTokenizersCutAsTheLibraryDoes) {
  EXPECT_EQ(pieces_of(R"({"type": "Whitespace"})", "it's  a_b"), (Words{"it", "'", "s", "a_b"}));
  EXPECT_EQ(pieces_of(R"({"type": "WhitespaceSplit"})", " it's\n a "), (Words{"it's", "a"}));
  EXPECT_EQ(pieces_of(R"({"type": "Punctuation"})", "a,b.."), (Words{"a", ",", "b", ".", "."}));
  EXPECT_EQ(pieces_of(R"({"type": "Digits", "individual_digits": true})", "a12"), (Words{"a", "1", "2"}));
  EXPECT_EQ(pieces_of(R"({"type": "Digits"})", "a12b"), (Words{"a", "12", "b"}));
  EXPECT_EQ(pieces_of(R"({"type": "CharDelimiterSplit", "delimiter": "-"})", "a-b"), (Words{"a", "b"}));
  EXPECT_EQ(pieces_of(R"({"type": "BertPreTokenizer"})", "a b!"), (Words{"a", "b", "!"}));
  EXPECT_EQ(pieces_of(R"({"type": "Metaspace"})", "a b"), (Words{"▁a", "▁b"}));
  EXPECT_EQ(pieces_of(R"({"type": "Metaspace", "prepend_scheme": "never", "split": false})", "a b"), Words{"a▁b"});
  EXPECT_EQ(pieces_of(R"({"type": "Split", "pattern": {"String": "b"}, "behavior": "MergedWithNext"})", "abc"),
            (Words{"a", "bc"}));
  EXPECT_EQ(
      pieces_of(R"({"type": "Split", "pattern": {"Regex": "b+"}, "behavior": "Removed", "invert": true})", "abbc"),
      Words{"bb"});
  EXPECT_EQ(pieces_of(R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
                          {"type": "ByteLevel", "use_regex": false}, {"type": "Punctuation"}]})",
                      "« x"),
            (Words{"ĠÂ", "«", "Ġx"}))
      << "what comes after ByteLevel sees its alphabet";
}

TEST(HuggingfacePipeline, NormalizersRewriteAsTheLibraryDoes) {
  EXPECT_EQ(normalized(R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"},
                           {"type": "Lowercase"}]})",
                       "É"),
            "e");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": "a+"}, "content": "x"})", "aab"), "xb");
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "▁"})", "a"), "▁a");
  EXPECT_EQ(normalized(R"({"type": "Strip", "strip_right": false})", " a "), "a ");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "lowercase": false})", "É"), "É");
}

TEST(HuggingfacePipeline, WhatIsUnknownIsNamed) {
  EXPECT_EQ(pieces_of(R"({"type": "Runes"})", "a"),
            Words{"d: tokenizer.json: pre_tokenizer: type 'Runes' is not implemented"});
  EXPECT_EQ(
      pieces_of(R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "("}}]})", "a")[0]
          .find("d: tokenizer.json: pre_tokenizer.pretokenizers[0]: expression '(' does not compile"),
      0U);
  EXPECT_EQ(normalized(R"({"type": "Replace", "content": "x"})", "a"),
            "d: tokenizer.json: normalizer: pattern is missing, expected {\"String\": ...} or {\"Regex\": ...}");
  EXPECT_EQ(normalized(R"({"type": "Precompiled", "precompiled_charsmap": "!"})", "a"),
            "d: tokenizer.json: normalizer: precompiled_charsmap is no base64");
}

TEST(HuggingfacePipeline, TokensAroundATextAreThoseOfTheTemplate) {
  const auto around = [](std::string_view part) {
    return load_surroundings(tokenizer_with(fmt::format("\"post_processor\": {}", part))).value();
  };
  const Surroundings both = around(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a"}},
                                       {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "b"}}]})");
  EXPECT_EQ(both.before, Ids{0});
  EXPECT_EQ(both.after, Ids{1});
  const Surroundings roberta = around(R"({"type": "RobertaProcessing", "cls": ["a", 0], "sep": ["b", 1]})");
  EXPECT_EQ(roberta.before, Ids{0});
  EXPECT_TRUE(around(R"({"type": "ByteLevel"})").before.empty());
}

// An expression that exceeds its limits on a text is an error that names the file and the expression.
TEST(HuggingfacePipeline, ALimitNamesFileAndExpression) {
  const auto tokenizer = Tokenizer::load_huggingface(
      R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
          "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}})",
      "", "d");
  const auto ids = (*tokenizer)->encode(std::string(60, 'a') + "b");
  ASSERT_FALSE(ids.has_value());
  EXPECT_TRUE(ids.error().message.starts_with("d: expression '(a+)+$' on a text of 61 bytes")) << ids.error().message;
}

TEST(HuggingfacePipeline, WholePiecesMayBeTokensOfBytes) {
  const auto tokenizer = Tokenizer::load_huggingface(
      R"({"model": {"type": "BPE", "vocab": {"<0x41>": 0, "<": 1}, "merges": [], "byte_fallback": true,
          "ignore_merges": true}})",
      "", "d");
  EXPECT_EQ((*tokenizer)->encode("<0x41>").value(), Ids{0}) << "as the library does";
}

// Ids by Hugging Face tokenizers, for one tiny vocabulary of each kind.
TEST(HuggingfacePipeline, AgreesWithTheLibrary) {
  const fs::path folder = fs::path(PLM_GOLDEN) / "text/tiny_tokenizers";
  const Json golden = read_json(fs::path(PLM_GOLDEN) / "text/tiny_tokenizers.json");
  for (const std::string name : {"bpe", "unigram", "wordpiece"}) {
    const auto tokenizer = Tokenizer::load_huggingface(read_file(folder / name / "tokenizer.json"),
                                                       read_file(folder / name / "tokenizer_config.json"), name)
                               .value();
    EXPECT_EQ(tokenizer->encode("Hello world").value(), golden.at(name).at("hello").get<Ids>()) << name;
    std::size_t i = 0;
    for (const Json& row : read_json(fs::path(PLM_GOLDEN) / "text/strings.json")) {
      if (row.at("text").is_null()) continue;
      const auto text = row.at("text").get<std::string>();
      EXPECT_EQ(tokenizer->encode(text, {.add_special = false, .parse_special = true}).value(),
                golden.at(name).at("ids")[i++].get<Ids>())
          << name << ": " << text;
    }
    EXPECT_EQ(i, golden.at(name).at("ids").size());
  }
}

}  // namespace
}  // namespace plm
