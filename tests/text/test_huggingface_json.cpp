#include "text/huggingface_json.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

Result<HuggingfaceTokenizer> parse(std::string_view json) { return HuggingfaceTokenizer::parse(json, "d"); }

std::string refused(std::string_view json) {
  const auto parsed = parse(json);
  EXPECT_FALSE(parsed.has_value()) << json;
  if (parsed.has_value()) return {};
  EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  return parsed.error().message;
}

// {"model": {"type": "BPE", "vocab": {a, b, ab}, "merges": [`merges`]}`rest`}
std::string bpe(std::string_view merges, std::string_view rest = "") {
  return fmt::format(R"({{"model": {{"type": "BPE", "vocab": {{"a": 0, "b": 1, "ab": 2}}, "merges": [{}]}}{}}})",
                     merges, rest);
}

TEST(HuggingfaceJson, MergesAreLinesOrPairs) {
  for (const char* merges : {R"("a b")", R"(["a", "b"])"}) {
    const auto tokenizer = parse(bpe(merges)).value();
    ASSERT_EQ(tokenizer.merges.size(), 1U);
    EXPECT_EQ(tokenizer.merges[0], (std::pair<std::string, std::string>{"a", "b"}));
    EXPECT_EQ(tokenizer.find("ab"), 2);
    EXPECT_EQ(tokenizer.find("x"), std::nullopt);
    EXPECT_EQ(tokenizer.find(""), std::nullopt);
  }
}

TEST(HuggingfaceJson, TheKindIsNamedOrImplied) {
  EXPECT_EQ(parse(R"({"model": {"vocab": {"a": 0}, "merges": []}})")->kind, HuggingfaceModel::bpe);
  EXPECT_EQ(parse(R"({"model": {"vocab": [["a", -1.5]], "unk_id": 0}})")->kind, HuggingfaceModel::unigram);
  EXPECT_EQ(parse(R"({"model": {"vocab": {"a": 0}, "unk_token": "a"}})")->kind, HuggingfaceModel::word_piece);
  EXPECT_EQ(parse(R"({"model": {"vocab": [["a", -1.5]], "unk_id": 0}})")->tokens[0].score, -1.5);
}

TEST(HuggingfaceJson, AddedTokensSayHowTheyAreFound) {
  const auto tokenizer = parse(bpe("", R"(, "added_tokens": [
      {"id": 3, "content": "<x>", "special": true, "lstrip": true},
      {"id": 4, "content": "w", "single_word": true, "rstrip": true}])"))
                             .value();
  ASSERT_EQ(tokenizer.added.size(), 2U);
  EXPECT_TRUE(tokenizer.added[0].is_control && tokenizer.added[0].strips_left);
  EXPECT_FALSE(tokenizer.added[0].is_normalized);
  EXPECT_TRUE(tokenizer.added[1].single_word && tokenizer.added[1].strips_right && tokenizer.added[1].is_normalized);
  EXPECT_EQ(tokenizer.tokens[3].text, "<x>");
}

TEST(HuggingfaceJson, WhatIsWrongIsNamed) {
  EXPECT_TRUE(refused("{").starts_with("d: tokenizer.json: not JSON"));
  EXPECT_EQ(refused("[]"), "d: tokenizer.json: expected an object");
  EXPECT_EQ(refused("{}"), "d: tokenizer.json: model: missing, expected an object");
  EXPECT_EQ(refused(R"({"model": {"type": "Runes"}})"),
            "d: tokenizer.json: model.type: 'Runes', expected BPE, Unigram or WordPiece");
  EXPECT_EQ(refused(R"({"model": {"type": "BPE", "vocab": {}, "merges": []}})"),
            "d: tokenizer.json: model.vocab: empty; a vocabulary has at least one token");
  EXPECT_EQ(refused(R"({"model": {"vocab": {"a": 0, "b": 0}, "merges": []}})"),
            "d: tokenizer.json: model.vocab: id 0 belongs to both 'a' and 'b'");
  EXPECT_TRUE(refused(R"({"model": {"vocab": {"a": 99999999}, "merges": []}})").find("has id 99999999") !=
              std::string::npos);
  EXPECT_EQ(refused(bpe(R"("ab")")), "d: tokenizer.json: model.merges: merge 0: expected two tokens");
  EXPECT_EQ(refused(bpe(R"("b a")")), "d: tokenizer.json: model.merges: merge 0 is 'b a', but 'ba' is no token");
  EXPECT_TRUE(refused(bpe("", R"(, "normalizer": 3)")).starts_with("d: tokenizer.json: normalizer: expected"));
}

TEST(HuggingfaceJson, LimitsHold) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += '[';
  EXPECT_TRUE(refused(deep).starts_with("d: tokenizer.json: nested 100 deep, expected at most 64"));
  const HuggingfaceLimits small{.bytes = 5};
  EXPECT_EQ(HuggingfaceTokenizer::parse("      ", "d", small).error().message,
            "d: tokenizer.json: 6 bytes, expected at most 5");
}

}  // namespace
}  // namespace plm
