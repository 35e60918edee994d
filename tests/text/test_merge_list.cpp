#include "text/merge_list.h"

#include <gtest/gtest.h>

#include <map>

#include "base/philox.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

struct Loaded {
  explicit Loaded(const VocabularyFields& fields)
      : vocabulary(Vocabulary::load(file_of(fields.writer())).value()), list(MergeList::load(vocabulary, warnings)) {}

  // The rank of the merge that the line names.
  [[nodiscard]] std::uint32_t rank(std::string_view left, std::string_view right) const {
    const auto product = vocabulary.find(std::string(left).append(right));
    return product ? list->rank(*product, left.size()) : Merge::kNoRank;
  }

  std::vector<std::string> warnings;
  Vocabulary vocabulary;
  Result<MergeList> list;
};

TEST(MergeList, RanksAreTheOrderOfTheFile) {
  const Loaded loaded({.tokens = {"a", "b", "ab", "abb"}, .merges = {"a b", "ab b", "a b", "a bb"}});
  EXPECT_EQ(loaded.rank("a", "b"), 0U);
  EXPECT_EQ(loaded.rank("ab", "b"), 1U);
  EXPECT_EQ(loaded.rank("a", "bb"), 3U);
  EXPECT_EQ(loaded.rank("b", "a"), Merge::kNoRank);
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST(MergeList, ATokenMayBeginWithASpace) {
  const Loaded loaded({.tokens = {" ", "a", " a"}, .merges = {"  a"}});
  EXPECT_EQ(loaded.rank(" ", "a"), 0U);
}

// However the list is ordered, each merge has the place of its first line.
TEST(MergeList, AnyOrderIsRead) {
  for (std::uint32_t round = 0; round < 20; ++round) {
    std::uint32_t draw = 0;
    const auto random = [&](std::size_t limit) { return philox4x32({draw++, round, 0, 0}, {9, 0})[0] % limit; };
    VocabularyFields fields{.tokens = {"x"}};
    for (std::size_t size = 2; size < 40; ++size) fields.tokens.push_back(std::string(size, "ab"[size % 2]));
    for (int i = 0; i < 400; ++i) {
      const std::string& product = fields.tokens[round < 5 ? 1 + static_cast<std::size_t>(i) / 11 : 1 + random(38)];
      const std::size_t left = 1 + random(product.size() - 1);
      fields.merges.push_back(product.substr(0, left) + " " + product.substr(left));
    }
    const Loaded loaded(fields);
    std::map<std::string, std::uint32_t> first;
    for (std::uint32_t i = 0; i < fields.merges.size(); ++i) first.emplace(fields.merges[i], i);
    for (std::size_t id = 1; id < fields.tokens.size(); ++id) {
      for (std::size_t left = 1; left < fields.tokens[id].size(); ++left) {
        const std::string& product = fields.tokens[id];
        const auto found = first.find(product.substr(0, left) + " " + product.substr(left));
        EXPECT_EQ(loaded.list->rank(static_cast<TokenId>(id), left),
                  found == first.end() ? Merge::kNoRank : found->second);
      }
    }
  }
}

TEST(MergeList, OneMergeAgainAndAgainIsNoTrouble) {
  VocabularyFields fields{.tokens = {"a", "b", "ab", "aab"}};
  fields.merges.assign(100'000, "a b");
  fields.merges.insert(fields.merges.end(), {"aa b", "a ab"});
  const Loaded loaded(fields);
  EXPECT_EQ(loaded.rank("a", "b"), 0U);
  EXPECT_EQ(loaded.rank("a", "ab"), 100'001U);
}

TEST(MergeList, OfTokensWithOneTextTheLowestIsMade) {
  const Loaded loaded({.tokens = {"a", "b", "ab", "ab"}, .merges = {"a b"}});
  EXPECT_EQ(loaded.list->rank(2, 1), 0U);
  EXPECT_EQ(loaded.list->rank(3, 1), Merge::kNoRank);
}

TEST(MergeList, AMergeHasASpace) {
  for (const std::string merge : {"he", "", " ", " x"}) {
    const Loaded loaded({.tokens = {"t", "h", "th"}, .merges = {"t h", merge}});
    EXPECT_EQ(loaded.list.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(loaded.list.error().message,
              "m.gguf: tokenizer.ggml.merges: merge 1 is '" + merge + "', expected two tokens with a space between");
  }
}

TEST(MergeList, AListThereMustBe) {
  const Loaded loaded({.tokens = {"a"}});
  EXPECT_NE(loaded.list.error().message.find("tokenizer.ggml.merges"), std::string::npos);
  EXPECT_EQ(MergeList().rank(0, 1), Merge::kNoRank);
}

TEST(MergeList, MergesOfNoTokenAreLeftOutWithAWarning) {
  const Loaded loaded({.tokens = {"a", "b", "ab"}, .merges = {"q z", "a b", "b a", "a q"}});
  EXPECT_EQ(loaded.rank("a", "b"), 1U);
  EXPECT_EQ(loaded.warnings, std::vector<std::string>{"m.gguf: tokenizer.ggml.merges: 3 of 4 merges make what is no "
                                                      "token, the first is 'q z'"});
}

TEST(MergeList, NoMergeMakesAControlTokenOfText) {
  const Loaded loaded({.tokens = {"<", "s>", "<s>"}, .types = {1, 1, 3}, .merges = {"< s>"}});
  EXPECT_EQ(loaded.rank("<", "s>"), Merge::kNoRank);
  EXPECT_EQ(loaded.warnings.size(), 1U);
}

TEST(MergeList, ThePlaceholderOfAVocabularyWithoutMergesIsNoOddity) {
  const Loaded loaded({.tokens = {"a", "<bos>"}, .types = {1, 3}, .merges = {"<bos> <bos>"}});
  EXPECT_TRUE(loaded.list.has_value());
  EXPECT_TRUE(loaded.warnings.empty());
}

}  // namespace
}  // namespace plm
