#include "text/merge_list.h"

#include <gtest/gtest.h>

#include "text/vocabulary_file.h"

namespace plm {
namespace {

struct Loaded {
  Result<MergeTable> table;
  std::vector<std::string> warnings;
};

Loaded load(const VocabularyFields& fields) {
  std::vector<std::string> warnings;
  const Vocabulary vocabulary = Vocabulary::load(file_of(fields.writer())).value();
  auto table = load_merges(vocabulary, warnings);
  return {std::move(table), std::move(warnings)};
}

TEST(MergeList, RanksAreTheOrderOfTheFile) {
  const auto loaded = load({.tokens = {"a", "b", "ab", "abb"}, .merges = {"a b", "ab b", "a b"}});
  const MergeTable& table = loaded.table.value();
  EXPECT_EQ(table.find(0, 1).rank, 0U);
  EXPECT_EQ(table.find(0, 1).product, 2);
  EXPECT_EQ(table.find(2, 1).rank, 1U);
  EXPECT_EQ(table.find(2, 1).product, 3);
  EXPECT_EQ(table.find(1, 0).rank, Merge::kNoRank);
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST(MergeList, ATokenMayBeginWithASpace) {
  const auto loaded = load({.tokens = {" ", "a", " a"}, .merges = {"  a"}});
  EXPECT_EQ(loaded.table.value().find(0, 1).product, 2);
}

TEST(MergeList, BlocksJoinSeamlessly) {
  VocabularyFields fields{.tokens = {"a"}};
  std::string grown = "a";
  for (int i = 0; i < 1500; ++i) {
    fields.merges.push_back(grown + " a");
    fields.tokens.push_back(grown += "a");
  }
  const auto loaded = load(fields);
  for (TokenId i = 0; i < 1500; ++i) {
    EXPECT_EQ(loaded.table.value().find(i, 0).rank, static_cast<std::uint32_t>(i));
    EXPECT_EQ(loaded.table.value().find(i, 0).product, i + 1);
  }
}

TEST(MergeList, AMergeHasASpace) {
  for (const std::string merge : {"he", "", " ", " x"}) {
    const auto error = load({.tokens = {"t", "h", "th"}, .merges = {"t h", merge}}).table.error();
    EXPECT_EQ(error.kind, ErrorKind::bad_input);
    EXPECT_EQ(error.message,
              "m.gguf: tokenizer.ggml.merges: merge 1 is '" + merge + "', expected two tokens with a space between");
  }
}

TEST(MergeList, AListThereMustBe) {
  EXPECT_NE(load({.tokens = {"a"}}).table.error().message.find("tokenizer.ggml.merges"), std::string::npos);
}

TEST(MergeList, MergesOfNoTokenAreLeftOutWithAWarning) {
  const auto loaded = load({.tokens = {"a", "b", "ab"}, .merges = {"q z", "a b", "b a", "a q"}});
  EXPECT_EQ(loaded.table.value().find(0, 1).rank, 1U);
  EXPECT_EQ(loaded.warnings,
            std::vector<std::string>{"m.gguf: tokenizer.ggml.merges: 3 of 4 merges join or make what is "
                                     "no token, the first is 'q z'"});
}

TEST(MergeList, NoMergeMakesAControlTokenOfText) {
  const auto loaded = load({.tokens = {"<", "s>", "<s>"}, .types = {1, 1, 3}, .merges = {"< s>"}});
  EXPECT_EQ(loaded.table.value().find(0, 1).rank, Merge::kNoRank);
  EXPECT_EQ(loaded.warnings.size(), 1U);
}

TEST(MergeList, ThePlaceholderOfAVocabularyWithoutMergesIsNoOddity) {
  const auto loaded = load({.tokens = {"a", "<bos>"}, .types = {1, 3}, .merges = {"<bos> <bos>"}});
  EXPECT_TRUE(loaded.table.has_value());
  EXPECT_TRUE(loaded.warnings.empty());
}

}  // namespace
}  // namespace plm
