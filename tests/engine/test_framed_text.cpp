// Texts with what stands around them, cut to a length.
#include "engine/framed_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/checkpoint.h"

namespace plm {
namespace {

std::shared_ptr<const Tokenizer> tokenizer(const std::string& path) {
  return Tokenizer::load(open_checkpoint(PLM_GOLDEN + path, CheckpointUse::vocabulary).value()).value();
}
// [CLS] 2, [SEP] 3
std::shared_ptr<const Tokenizer> bert() { return tokenizer("/huggingface/bert"); }

std::vector<TokenId> inside(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, {.add_special = false}).value();
}

TEST(FramedText, ATextKeepsWhatIsAroundIt) {
  const auto words = bert();
  const auto whole = frame_text(*words, "the end of the world", 64).value();
  EXPECT_EQ(whole.tokens, words->encode("the end of the world").value());
  EXPECT_FALSE(whole.is_cut);
  EXPECT_TRUE(whole.types.empty());
  const auto cut = frame_text(*words, "the end of the world", 4).value();
  const auto all = inside(*words, "the end of the world");
  EXPECT_EQ(cut.tokens, (std::vector<TokenId>{2, all[0], all[1], 3}));
  EXPECT_TRUE(cut.is_cut);
  EXPECT_EQ(frame_text(*words, "", 3).value().tokens, (std::vector<TokenId>{2, 3}));
  EXPECT_FALSE(frame_text(*words, "", 2).has_value()) << "no room for a word";
}

TEST(FramedText, APairIsToldApartByTypesAndCutWhereItIsLonger) {
  const auto words = bert();
  const std::string first = "the end", second = "of the world and of the rest";
  const auto a = inside(*words, first), b = inside(*words, second);
  const auto whole = frame_pair(*words, first, second, 64).value();
  std::vector<TokenId> expected{2};
  expected.insert(expected.end(), a.begin(), a.end());
  expected.push_back(3);
  const std::size_t left = expected.size();
  expected.insert(expected.end(), b.begin(), b.end());
  expected.push_back(3);
  EXPECT_EQ(whole.tokens, expected);
  std::vector<std::int32_t> types(left, 0);
  types.resize(expected.size(), 1);
  EXPECT_EQ(whole.types, types);
  const auto count = [](const FramedText& text, std::int32_t type) {
    return static_cast<std::size_t>(std::count(text.types.begin(), text.types.end(), type));
  };
  for (std::size_t most = 5; most < expected.size(); ++most) {
    const auto cut = frame_pair(*words, first, second, most).value();
    EXPECT_EQ(cut.tokens.size(), most);
    EXPECT_TRUE(cut.is_cut);
    const std::size_t kept = count(cut, 0) - 2;  // of the first, which loses only when it is the longer one
    EXPECT_EQ(kept, std::min(a.size(), (most - 3) / 2)) << most;
  }
}

// XLM-R's files: two separators between the texts, one at the end, in GGUF and in tokenizer.json alike.
TEST(FramedText, XlmRobertaHasTwoSeparatorsBetween) {
  const auto words = tokenizer("/oracle/xlmr_reranker-bf16.gguf");
  EXPECT_EQ(words->surroundings().before, (std::vector<TokenId>{0}));
  EXPECT_EQ(words->surroundings().between, (std::vector<TokenId>{2, 2}));
  EXPECT_EQ(words->surroundings().after, (std::vector<TokenId>{2}));
  EXPECT_FALSE(words->surroundings().second_type);
}

}  // namespace
}  // namespace plm
