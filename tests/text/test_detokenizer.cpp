#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/utf8.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

Vocabulary load(const VocabularyFields& fields) { return Vocabulary::load(file_of(fields.writer())).value(); }

std::vector<std::string> deltas(const Vocabulary& vocabulary, const Ids& ids, const DetokenizeOptions& options = {}) {
  Detokenizer detokenizer(vocabulary, options);
  std::vector<std::string> texts;
  for (const TokenId id : ids) texts.push_back(detokenizer.push(id));
  texts.push_back(detokenizer.finish());
  return texts;
}

using Texts = std::vector<std::string>;

// Public report TOK-12 of the conformance cases.
TEST(Detokenizer, ACharacterOverTwoTokensComesOnceAndWhole) {
  const Vocabulary vocabulary = load({.tokens = {"æŃ", "ª"}});  // e6 ad, aa
  EXPECT_EQ(deltas(vocabulary, {0, 1}), (Texts{"", "歪", ""}));
  EXPECT_EQ(deltas(vocabulary, {0, 0, 1}), (Texts{"", "\uFFFD", "歪", ""}));
  EXPECT_EQ(deltas(vocabulary, {1, 0}), (Texts{"\uFFFD", "", "\uFFFD"}));
}

// Public report TOK-14.
TEST(Detokenizer, ExactlyOneLeadingSpaceIsDroppedFromAWholeText) {
  const Vocabulary vocabulary =
      load({.model = "llama", .tokens = {"▁", "▁leading", "▁x", "<s>"}, .types = {1, 1, 1, 3}});
  EXPECT_EQ(detokenize(vocabulary, Ids{0, 1, 2}, {.whole_text = true}), " leading x");
  EXPECT_EQ(detokenize(vocabulary, Ids{3, 1, 2}, {.whole_text = true}), "leading x");
  EXPECT_EQ(detokenize(vocabulary, Ids{1, 2}), " leading x") << "a continuation keeps it";
  EXPECT_EQ(deltas(vocabulary, {0, 1, 2}, {.whole_text = true}), (Texts{"", " leading", " x", ""}));
  GgufWriter writer = VocabularyFields{.model = "llama", .tokens = {"▁x"}}.writer();
  writer.add_boolean("tokenizer.ggml.add_space_prefix", false);
  EXPECT_EQ(detokenize(Vocabulary::load(file_of(writer)).value(), Ids{0}, {.whole_text = true}), " x");
}

TEST(Detokenizer, ControlTokensShowOnlyWhenAskedFor) {
  const Vocabulary vocabulary = load({.tokens = {"a", "<|x|>", "<unk>", "<tool>"}, .types = {1, 3, 2, 4}});
  EXPECT_EQ(detokenize(vocabulary, Ids{0, 1, 0, 2, 3}), "aa<tool>");
  EXPECT_EQ(detokenize(vocabulary, Ids{0, 1, 0, 2, 3}, {.show_special = true}), "a<|x|>a<unk><tool>");
}

TEST(Detokenizer, ByteTokensJoinToCharacters) {
  const Vocabulary vocabulary =
      load({.model = "llama", .tokens = {"<0xF0>", "<0x9F>", "<0x99>", "<0x82>", "!"}, .types = {6, 6, 6, 6, 1}});
  EXPECT_EQ(deltas(vocabulary, {0, 1, 2, 3, 4}), (Texts{"", "", "", "🙂", "!", ""}));
  EXPECT_EQ(deltas(vocabulary, {0, 1, 2, 4}), (Texts{"", "", "", "\uFFFD!", ""}));
  EXPECT_EQ(deltas(vocabulary, {0, 1, 2}), (Texts{"", "", "", "\uFFFD"}));
}

TEST(Detokenizer, PiecesAreWellFormedAndJoinToTheWhole) {
  const Vocabulary vocabulary = load(tiny_bpe());
  const auto size = static_cast<std::uint32_t>(vocabulary.size());
  for (std::uint32_t round = 0; round < 500; ++round) {
    Ids ids;
    std::string bytes;
    for (std::uint32_t i = 0; i < 40; ++i) {
      ids.push_back(static_cast<TokenId>(philox4x32({round, i, 0, 0}, {9, 0})[0] % size));
      vocabulary.append_bytes(ids.back(), bytes);
    }
    std::string joined;
    for (const std::string& text : deltas(vocabulary, ids)) {
      EXPECT_TRUE(utf8_is_valid(text));
      joined += text;
    }
    EXPECT_EQ(joined, utf8_sanitized(bytes));
    EXPECT_EQ(joined, detokenize(vocabulary, ids));
  }
}

TEST(Detokenizer, StartsAnewAfterTheEnd) {
  const Vocabulary vocabulary = load({.model = "llama", .tokens = {"▁x", "<0xE6>"}, .types = {1, 6}});
  Detokenizer detokenizer(vocabulary, {.whole_text = true});
  EXPECT_EQ(detokenizer.push(0), "x");
  EXPECT_EQ(detokenizer.push(1), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.push(0), "x");
  EXPECT_EQ(detokenizer.finish(), "");
}

}  // namespace
}  // namespace plm
