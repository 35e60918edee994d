// Embeddings: pooling and length against an oracle, options, and what is refused.
#include "engine/embedding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine_runs.h"
#include "model/oracle_numbers.h"

namespace plm {
namespace {

std::unique_ptr<Engine> bert() {
  return load_engine(std::string(PLM_GOLDEN) + "/oracle/bert-f32.gguf", {.use = ModelUse::embedding});
}

double length(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

const std::vector<std::string> kTexts{"the end of the world", "", "a cat and a dog"};

TEST(Embedding, EveryPoolingIsThatOfItsRows) {
  const auto engine = bert();
  const auto framed = frame_text(engine->tokenizer(), kTexts[0], 64).value();
  std::vector<std::vector<float>> rows;
  const std::vector<RowsWanted> wanted{{&framed, rows_for(Pooling::mean, framed.tokens.size())}};
  ASSERT_TRUE(read_rows(*engine, wanted, [&](auto, auto found) -> Result<void> {
                rows = std::move(found);
                return {};
              }).has_value());
  const auto embedded = [&](Pooling pooling) {
    const EmbeddingOptions options{.pooling = pooling, .normalizes = false};
    return embed(*engine, std::span(kTexts).first(1), options).value().front().values;
  };
  EXPECT_EQ(embedded(Pooling::cls), rows.front());
  EXPECT_EQ(embedded(Pooling::last), rows.back());
  EXPECT_EQ(embedded(Pooling::mean), pooled(rows));
}

TEST(Embedding, VectorsHaveLengthOneAndKeepTheirOrder) {
  const auto engine = bert();
  const auto all = embed(*engine, kTexts).value();
  ASSERT_EQ(all.size(), 3U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(length(all[i].values), 1, 1e-6);
    EXPECT_EQ(all[i].values, embed(*engine, std::span(kTexts).subspan(i, 1)).value().front().values) << i;
    EXPECT_FALSE(all[i].is_cut);
  }
  EXPECT_EQ(all[1].tokens, 2U) << "[CLS] [SEP]";
  EXPECT_NEAR(cosine(all[0].values, all[0].values), 1, 1e-9);
}

TEST(Embedding, FewerDimensionsHaveLengthOneAgain) {
  const auto engine = bert();
  const auto whole = embed(*engine, kTexts).value(), few = embed(*engine, kTexts, {.dimensions = 8}).value();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ASSERT_EQ(few[i].values.size(), 8U);
    EXPECT_NEAR(length(few[i].values), 1, 1e-6);
    EXPECT_NEAR(cosine(few[i].values, std::span(whole[i].values).first(8)), 1, 1e-6);
  }
  EXPECT_FALSE(embed(*engine, kTexts, {.dimensions = 65}).has_value());
}

TEST(Embedding, APrefixStandsInFrontOfEveryText) {
  const auto engine = bert();
  const std::vector<std::string> prefixed{"query: " + kTexts[0]};
  const auto expected = embed(*engine, prefixed).value().front().values;
  EXPECT_EQ(embed(*engine, std::span(kTexts).first(1), {.prefix = "query: "}).value().front().values, expected);
}

TEST(Embedding, LongTextsAreCutOrRefused) {
  const auto engine = bert();
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the ";
  const std::vector<std::string> texts{kTexts[0], text};
  const auto all = embed(*engine, texts).value();
  EXPECT_FALSE(all[0].is_cut);
  EXPECT_TRUE(all[1].is_cut);
  EXPECT_EQ(all[1].tokens, 128U);
  EXPECT_EQ(embed(*engine, texts, {.most_tokens = 10}).value()[1].tokens, 10U);
  const auto refused = embed(*engine, texts, {.cuts = false});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message.find("text 2: more than 128 tokens"), 0U) << refused.error().message;
}

// A decoder gives its last token's state; the golden's is behind the last norm.
TEST(Embedding, ADecoderGivesItsLastToken) {
  const std::string path = std::string(PLM_GOLDEN) + "/oracle/qwen3";
  const auto engine = load_engine(path + "-f32.gguf", {.use = ModelUse::embedding});
  const auto oracle = SafetensorsFile::open(path + ".golden.safetensors").value();
  const FramedText text{.tokens = golden_ids(*oracle, "input_ids")};
  const auto final_norm = golden_floats(*oracle, "hidden.final_norm.out");
  EXPECT_EQ(engine->sequence_head().pooling(), Pooling::last);
  const std::vector<RowsWanted> wanted{{&text, rows_for(Pooling::last, text.tokens.size())}};
  std::vector<float> last;
  ASSERT_TRUE(read_rows(*engine, wanted, [&](auto, auto rows) -> Result<void> {
                last = pooled(rows);
                return {};
              }).has_value());
  const std::vector<float> expected(final_norm.end() - static_cast<std::ptrdiff_t>(last.size()), final_norm.end());
  EXPECT_LE(largest_difference(last, expected), 1e-4F);
}

}  // namespace
}  // namespace plm
