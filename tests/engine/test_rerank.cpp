// Reranking with a head and with the words yes and no.
#include "engine/rerank.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine_runs.h"
#include "model/oracle_numbers.h"

namespace plm {
namespace {

std::string golden(const std::string& path) { return PLM_GOLDEN + path; }

const std::vector<std::string> kDocuments{"a dog and a cat", "the end of the world", "and so on, and so on"};

TEST(Rerank, RelevanceIsAProbability) {
  EXPECT_DOUBLE_EQ(relevance(std::vector<float>{0}), 0.5);
  EXPECT_NEAR(relevance(std::vector<float>{2}), 1 / (1 + std::exp(-2.0)), 1e-12);
  EXPECT_NEAR(relevance(std::vector<float>{1, 3}), 1 / (1 + std::exp(-2.0)), 1e-12) << "the second";
  const std::vector<std::string> labels{"yes", "no"};
  EXPECT_NEAR(relevance(std::vector<float>{1, 3}, labels), 1 / (1 + std::exp(2.0)), 1e-12) << "the one named yes";
}

TEST(Rerank, ACrossEncoderSortsByTheScoreOfEachPair) {
  const auto engine = load_engine(golden("/oracle/xlmr_reranker-bf16.gguf"), {.use = ModelUse::scoring});
  const auto rankings = rerank(*engine, {"the end", kDocuments}).value();
  ASSERT_EQ(rankings.size(), 3U);
  for (std::size_t i = 1; i < rankings.size(); ++i) EXPECT_GE(rankings[i - 1].score, rankings[i].score);
  for (const Ranking& ranking : rankings) {
    const auto alone = rerank(*engine, {"the end", std::span(kDocuments).subspan(ranking.document, 1)}).value();
    EXPECT_EQ(alone.front().logits, ranking.logits) << "the same bits alone and among others";
    ASSERT_EQ(ranking.logits.size(), 1U);
    EXPECT_NEAR(ranking.score, 1 / (1 + std::exp(-double{ranking.logits[0]})), 1e-9);
    EXPECT_EQ(ranking.tokens,
              frame_pair(engine->tokenizer(), "the end", kDocuments[ranking.document], 128)->tokens.size());
  }
}

// The golden's text is made of ids, so its last row is read as it is; then the same model is asked in words.
TEST(Rerank, ADecoderIsAskedAndItsAnswerRead) {
  const auto engine = load_engine(golden("/huggingface/qwen3_reranker"), {.use = ModelUse::scoring});
  const auto oracle = SafetensorsFile::open(golden("/oracle/qwen3_reranker.golden.safetensors")).value();
  const FramedText text{.tokens = golden_ids(*oracle, "input_ids")};
  const std::vector<RowsWanted> wanted{{&text, rows_for(Pooling::last, text.tokens.size()), YieldKind::logits}};
  std::vector<float> logits;
  ASSERT_TRUE(read_rows(*engine, wanted, [&](auto, auto rows) -> Result<void> {
                logits = rows.front();
                return {};
              }).has_value());
  const std::vector<float> yes_no{logits[100], logits[101]};
  EXPECT_LE(largest_difference(yes_no, golden_floats(*oracle, "yes_no_logits")), 1e-4F);
  const std::vector<float> no_yes{yes_no[1], yes_no[0]};
  EXPECT_NEAR(relevance(no_yes), golden_floats(*oracle, "score").front(), 1e-5);

  const RerankOptions options{
      .form = "Q {query} D {document} I {instruction}<|eos|>", .instruction = "x", .yes = "y", .no = "n"};
  const auto rankings = rerank(*engine, {"the end", kDocuments}, options).value();
  ASSERT_EQ(rankings.size(), 3U);
  const auto by_hand = engine->tokenizer()
                           .encode("Q the end D " + kDocuments[rankings[0].document] + " I x<|eos|>",
                                   {.add_special = false, .parse_special = true})
                           .value();
  EXPECT_EQ(rankings[0].tokens, by_hand.size()) << "the words of the form are control tokens";
  const auto plain = rerank(*engine, {"<|eos|>", kDocuments}, options).value();
  EXPECT_GT(plain[0].tokens, rankings[0].tokens - 4) << "those of a query are not";
}

TEST(Rerank, ALongDocumentIsCutAndTheFormKept) {
  const auto engine = load_engine(golden("/huggingface/qwen3_reranker"), {.use = ModelUse::scoring});
  std::string text;
  for (int i = 0; i < 400; ++i) text += "world ";
  const RerankOptions options{.most_tokens = 60, .form = "Q {query} D {document}<|eos|>", .yes = "y", .no = "n"};
  const std::vector<std::string> documents{text, "end"};
  const std::vector<Ranking> rankings = rerank(*engine, {"the end", documents}, options).value();
  for (const Ranking& ranking : rankings) {
    EXPECT_EQ(ranking.is_cut, ranking.document == 0);
    EXPECT_LE(ranking.tokens, 60U);
  }
  RerankOptions strict = options;
  strict.cuts = false;
  const auto refused = rerank(*engine, {"the end", documents}, strict);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message.find("document 1: more than 60 tokens"), 0U);
}

TEST(Rerank, RefusesWhatCannotBeAsked) {
  const auto engine = load_engine(golden("/huggingface/qwen3_reranker"), {.use = ModelUse::scoring});
  const auto message = [&](const RerankOptions& options) {
    const auto done = rerank(*engine, {"q", kDocuments}, options);
    return done.has_value() ? std::string("accepted") : done.error().message;
  };
  EXPECT_NE(message({.form = "Q {query}", .yes = "y", .no = "n"}).find("form: has no {document}"), std::string::npos);
  EXPECT_NE(message({.yes = "absolutely"}).find("answer \"absolutely\""), std::string::npos);
}

}  // namespace
}  // namespace plm
