#include "engine/score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "base/json.h"
#include "engine/engine_runs.h"
#include "engine/scheduled_model.h"

namespace plm {
namespace {

struct Scored {
  Score score;
  std::vector<ScoredPosition> positions;
};

Scored scored(Engine& engine, std::span<const TokenId> ids, std::size_t top) {
  Scored result;
  const auto outcome = score(engine, {.ids = ids, .top = top},
                             [&](const ScoredPosition& position) { result.positions.push_back(position); });
  if (!outcome.has_value()) throw std::runtime_error(outcome.error().message);
  result.score = *outcome;
  return result;
}

Json golden_logits() {
  std::ifstream file(std::string(PLM_GOLDEN) + "/decoding/logits_ar.json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return parse_json(text, "logits").value();
}

TEST(Score, LogitsOfTheTwinAreTheGoldenOnes) {
  for (const KvTypes& kv_types : {KvTypes(quant_f32), KvTypes(quant_f16)}) {
    ScheduledModel model(twin(), {.kv_types = kv_types});
    for (const Json& run : golden_logits()) {
      const auto session = model.open();
      const Logits logits = append(model, *session, run.at("ids").get<std::vector<TokenId>>());
      const auto expected = run.at("logits").get<Logits>();
      ASSERT_EQ(logits.size(), expected.size());
      // Half precision of keys and values costs what ten bits of mantissa cost.
      const float tolerance = kv_types.keys == &quant_f32 ? 1e-4F : 3e-2F;
      for (std::size_t row = 0; row < logits.size(); ++row) {
        for (std::size_t id = 0; id < expected[row].size(); ++id) {
          ASSERT_NEAR(logits[row][id], expected[row][id], tolerance) << row << " " << id;
        }
      }
    }
  }
}

TEST(Score, ProbabilitiesAreThoseOfTheGoldenLogits) {
  const auto engine = load_engine(twin());
  for (const Json& run : golden_logits()) {
    const auto ids = run.at("ids").get<std::vector<TokenId>>();
    const auto logits = run.at("logits").get<std::vector<std::vector<double>>>();
    const Scored result = scored(*engine, ids, 5);
    ASSERT_EQ(result.positions.size(), ids.size());
    double sum = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const ScoredPosition& position = result.positions[i];
      EXPECT_EQ(position.id, ids[i]);
      double total = 0;
      for (const double logit : logits[i]) total += std::exp(logit);
      ASSERT_EQ(position.top.size(), 5U);
      for (const TokenLogProbability& entry : position.top) {
        EXPECT_NEAR(entry.log_probability, logits[i][static_cast<std::size_t>(entry.id)] - std::log(total), 2e-4);
      }
      const auto best = std::max_element(logits[i].begin(), logits[i].end()) - logits[i].begin();
      EXPECT_EQ(position.top[0].id, best);
      ASSERT_EQ(position.log_probability.has_value(), i > 0);
      if (i == 0) continue;
      double before = 0;
      for (const double logit : logits[i - 1]) before += std::exp(logit);
      const double expected = logits[i - 1][static_cast<std::size_t>(ids[i])] - std::log(before);
      EXPECT_NEAR(*position.log_probability, expected, 2e-4);
      sum += expected;
    }
    EXPECT_EQ(result.score.tokens, ids.size() - 1);
    EXPECT_NEAR(result.score.log_probability_sum, sum, 2e-3);
    EXPECT_NEAR(std::log(result.score.perplexity()), -sum / static_cast<double>(ids.size() - 1), 2e-4);
  }
}

// Longer than a chunk of the scorer: nothing shows where it was cut.
TEST(Score, ALongTextIsScoredAcrossChunks) {
  const auto engine = load_engine(twin());
  const auto ids = some_tokens(150, 3, 256);
  const Scored whole = scored(*engine, ids, 3);
  ASSERT_EQ(whole.positions.size(), 150U);
  ScheduledModel model(twin());
  const auto session = model.open();
  const Logits logits = append(model, *session, ids);
  double sum = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto distribution = LogProbabilities::of(logits[i]).value();
    EXPECT_EQ(whole.positions[i].top[2].log_probability, distribution.top(3)[2].log_probability) << i;
    if (i + 1 == ids.size()) break;
    EXPECT_EQ(whole.positions[i + 1].log_probability, distribution.of_token(ids[i + 1])) << i;
    sum += distribution.of_token(ids[i + 1]);
  }
  EXPECT_EQ(whole.score.log_probability_sum, sum);
}

TEST(Score, OneTokenHasNoProbabilityAndPerplexityOne) {
  const auto engine = load_engine(twin());
  const Scored result = scored(*engine, std::vector<TokenId>{65}, 2);
  ASSERT_EQ(result.positions.size(), 1U);
  EXPECT_FALSE(result.positions[0].log_probability.has_value());
  EXPECT_EQ(result.score.tokens, 0U);
  EXPECT_EQ(result.score.perplexity(), 1.0);
}

TEST(Score, RefusesWhatDoesNotFitAndStopsWhenAsked) {
  const auto engine = load_engine(twin());
  const auto ignore = [](const ScoredPosition&) {};
  for (const auto& ids : {std::vector<TokenId>{}, std::vector<TokenId>(257, 65), std::vector<TokenId>{65, 999}}) {
    const auto outcome = score(*engine, {.ids = ids, .top = 1}, ignore);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().kind, ErrorKind::usage);
  }
  int asked = 0;
  const auto ids = some_tokens(200, 3, 256);
  const auto outcome = score(*engine, {.ids = ids, .top = 1}, ignore, [&] { return ++asked > 2; });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(scored(*engine, ids, 1).positions.size(), 200U) << "the engine is as good as before";
}

}  // namespace
}  // namespace plm
