// Classifier-free guidance (src/decode/guided_session.h) with a real model: the combined logits are those of two
// sequences computed apart, and nothing about the batch changes them.
#include <gtest/gtest.h>

#include "engine/engine_runs.h"
#include "engine/score.h"

namespace plm {
namespace {

constexpr const char* kPrompt = "S84901>";
constexpr const char* kNegative = "A385+739=";

std::unique_ptr<Engine> twin(const EngineOptions& options = {}) {
  return load_engine(std::string(PLM_MODELS) + "/twin-ar.gguf", options);
}

GenerationRequest request_for(const Engine& engine, const Settings& sampling, double scale) {
  return {.prompt = encoded(engine, kPrompt),
          .max_tokens = 6,
          .sampling = &sampling,
          .seed = 3,
          .ignore_end = true,
          .log_probabilities = LogProbabilityWish{.of = LogProbabilityWish::Of::model, .top = 300},
          .negative_prompt = encoded(engine, kNegative),
          .guidance_scale = scale};
}

struct Row {
  TokenId token;
  std::vector<double> log_probabilities;  // by id
};

std::vector<Row> rows_of(Engine& engine, GenerationRequest request) {
  std::vector<Row> rows;
  request.listener = [&](const Event& event) {
    if (event.kind != EventKind::committed) return;
    rows.push_back({event.token, std::vector<double>(engine.vocabulary().size())});
    for (const auto& [id, value] : event.top) rows.back().log_probabilities[static_cast<std::size_t>(id)] = value;
  };
  const auto generation = engine.start(std::move(request)).value();
  EXPECT_TRUE(engine.run().has_value());
  EXPECT_TRUE(generation->done() && generation->take().has_value());
  return rows;
}

// The model's distribution after these tokens.
std::vector<double> plain_row(Engine& engine, std::vector<TokenId> ids) {
  std::vector<double> row(engine.vocabulary().size());
  EXPECT_TRUE(score(engine, {.ids = ids, .top = row.size()}, [&](const ScoredPosition& position) {
                for (const auto& [id, value] : position.top) row[static_cast<std::size_t>(id)] = value;
              }).has_value());
  return row;
}

TEST(Guidance, MovesTheLogitsAwayFromTheNegativePrompt) {
  const auto engine = twin();
  Settings greedy(sampling_parameters());
  ASSERT_TRUE(greedy.set_text("temperature", "0").has_value());
  const double scale = 2.5;
  std::vector<TokenId> with = encoded(*engine, kPrompt), without = encoded(*engine, kNegative);
  for (const Row& row : rows_of(*engine, request_for(*engine, greedy, scale))) {
    const auto a = plain_row(*engine, with), b = plain_row(*engine, without);
    std::vector<double> z(a.size());
    double highest = -HUGE_VAL, sum = 0;
    for (std::size_t id = 0; id < a.size(); ++id) z[id] = scale * (a[id] - b[id]) + b[id];
    for (const double each : z) highest = std::max(highest, each);
    for (const double each : z) sum += std::exp(each - highest);
    for (std::size_t id = 0; id < a.size(); ++id) {
      EXPECT_NEAR(row.log_probabilities[id], z[id] - highest - std::log(sum), 2e-4) << id;
    }
    with.push_back(row.token);
    without.push_back(row.token);
  }
}

TEST(Guidance, IsTheSameInSmallBatchesAndBesideOthers) {
  const auto engine = twin(), cut = twin({.batch_rows = 3});
  Settings sampling(sampling_parameters());
  ASSERT_TRUE(sampling.set_text("temperature", "2").has_value());
  const auto expected = rows_of(*engine, request_for(*engine, sampling, 1.5));
  const auto beside = cut->start({.prompt = encoded(*cut, "Thot hev:"), .max_tokens = 9}).value();
  const auto found = rows_of(*cut, request_for(*cut, sampling, 1.5));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].token, expected[i].token);
    EXPECT_EQ(found[i].log_probabilities, expected[i].log_probabilities);
  }
}

TEST(Guidance, MayBeDroppedAtEveryPass) {
  const auto engine = twin({.batch_rows = 4});
  const Settings sampling(sampling_parameters());
  for (int served = 0; served < 14; ++served) {
    const auto generation = engine->start(request_for(*engine, sampling, 2)).value();
    int batches = 0;
    ASSERT_TRUE(engine->run([&] { return batches++ == served; }).has_value());
  }
  EXPECT_EQ(rows_of(*engine, request_for(*engine, sampling, 2)).size(), 6U);
}

TEST(Guidance, OfOneOrWithoutANegativePromptIsNone) {
  const auto engine = twin();
  const Settings sampling(sampling_parameters());
  GenerationRequest none = request_for(*engine, sampling, 3);
  none.negative_prompt.clear();
  const auto plain = rows_of(*engine, none), one = rows_of(*engine, request_for(*engine, sampling, 1));
  ASSERT_EQ(plain.size(), one.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i].log_probabilities, one[i].log_probabilities);
}

TEST(Guidance, ANegativePromptIsCheckedAsAPromptIs) {
  const auto engine = twin();
  const Settings sampling(sampling_parameters());
  GenerationRequest request = request_for(*engine, sampling, 3);
  request.negative_prompt = {99999};
  const auto generation = engine->start(std::move(request));
  ASSERT_FALSE(generation.has_value());
  EXPECT_TRUE(generation.error().message.starts_with("negative prompt: ")) << generation.error().message;
}

}  // namespace
}  // namespace plm
