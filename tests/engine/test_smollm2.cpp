// SmolLM2-135M-Instruct Q4_1, a model that people use, against what transformers computes from the same weights
// unpacked to float32. Covers src/engine/engine.cpp and src/engine/score.cpp. The model is looked for in
// PLM_TEST_SMOLLM2, then where `plm fetch smollm2-135m` puts it; without it, and under sanitizers, the tests are
// skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/json.h"
#include "engine/engine_runs.h"
#include "engine/scheduled_model.h"
#include "engine/score.h"

namespace plm {
namespace {

constexpr double kDecisive = 0.02;  // margins in nat below which another order of summation may choose otherwise

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string model_path() {
  if (const std::string path = environment("PLM_TEST_SMOLLM2"); !path.empty()) return path;
  const std::string cache = environment("PLM_CACHE");
  return (cache.empty() ? environment("HOME") + "/.cache/plm" : cache) + "/smollm2-135m.gguf";
}

class SmolLm2 : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "too large for a sanitizer";
#endif
    if (!std::filesystem::exists(model_path())) GTEST_SKIP() << "no " << model_path() << "; plm fetch smollm2-135m";
    std::ifstream file(std::string(PLM_GOLDEN) + "/real/smollm2-135m-q4_1.hf.json");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    prompts_ = parse_json(text, "golden").value().at("prompts");
  }

  using Top = std::vector<std::pair<TokenId, double>>;  // log-probabilities, descending
  static double margin(const Top& top) { return top[0].second - top[1].second; }

  Json prompts_;
};

/// How far rounding of activations may move the twenty largest log-probabilities, and where the largest must agree.
struct Rounding {
  Activations activations;
  double mean;      // absolute difference
  double decisive;  // margin in nat
};

class SmolLm2Rounding : public SmolLm2, public testing::WithParamInterface<Rounding> {};

TEST_P(SmolLm2Rounding, LogProbabilitiesAreNearThoseOfFloat32) {
  const auto engine = load_engine(model_path(), {}, {.threads = 2, .activations = GetParam().activations});
  double difference = 0;
  std::size_t count = 0;
  for (const auto& [name, prompt] : prompts_.items()) {
    const auto ids = prompt.at("ids").get<std::vector<TokenId>>();
    const auto golden = prompt.at("top20").get<std::vector<Top>>();
    std::vector<ScoredPosition> positions;
    const auto outcome =
        score(*engine, {.ids = ids, .top = 200}, [&](const ScoredPosition& p) { positions.push_back(p); });
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    ASSERT_EQ(positions.size(), golden.size());
    for (std::size_t i = 0; i < golden.size(); ++i) {
      const auto& ours = positions[i].top;
      EXPECT_TRUE(ours[0].id == golden[i][0].first || margin(golden[i]) <= GetParam().decisive) << name << " " << i;
      for (const auto& [id, log_probability] : golden[i]) {
        const auto found =
            std::find_if(ours.begin(), ours.end(), [&, wanted = id](const auto& entry) { return entry.id == wanted; });
        ASSERT_NE(found, ours.end()) << name << " " << i;
        difference += std::abs(found->log_probability - log_probability);
        ++count;
      }
    }
  }
  EXPECT_EQ(count, 20U * (45 + 50 + 47 + 47));
  EXPECT_LE(difference / static_cast<double>(count), GetParam().mean);
}

INSTANTIATE_TEST_SUITE_P(Activations, SmolLm2Rounding,
                         testing::Values(Rounding{Activations::f32, 1e-4, kDecisive},
                                         Rounding{Activations::int16, 0.002, kDecisive},
                                         Rounding{Activations::int8, 0.16, 0.5}),
                         [](const auto& instance) {
                           switch (instance.param.activations) {
                             case Activations::f32: return "f32";
                             case Activations::int16: return "int16";
                             default: return "int8";
                           }
                         });

TEST_F(SmolLm2, GreedyContinuationsAreIdenticalWhereTheyAreDecided) {
  const auto engine = load_engine(model_path(), {}, {.threads = 2});
  std::vector<Written> written(prompts_.size());
  std::vector<std::unique_ptr<Generation>> generations;
  for (const auto& [name, prompt] : prompts_.items()) {
    auto ids = prompt.at("ids").get<std::vector<TokenId>>();
    const std::size_t count = prompt.at("greedy_ids").size();
    ids.resize(ids.size() - count);
    generations.push_back(engine
                              ->start({.prompt = std::move(ids),
                                       .max_tokens = count,
                                       .ignore_end = true,
                                       .listener = written[generations.size()].listener()})
                              .value());
  }
  ASSERT_TRUE(engine->run().has_value());
  std::size_t at = 0;
  for (const auto& [name, prompt] : prompts_.items()) {
    const auto expected = prompt.at("greedy_ids").get<std::vector<TokenId>>();
    const auto golden = prompt.at("top20").get<std::vector<Top>>();
    const std::vector<TokenId>& ours = written[at++].ids;
    ASSERT_EQ(ours.size(), expected.size());
    const std::size_t first = golden.size() - expected.size() - 1;  // the row that decides the first token
    for (std::size_t i = 0; i < expected.size() && margin(golden[first + i]) > kDecisive; ++i) {
      ASSERT_EQ(ours[i], expected[i]) << name << " " << i;
    }
  }
}

TEST_F(SmolLm2, LogitsAreTheSameBitsInEveryArrangement) {
  const auto tokens = prompts_.at("prose").at("ids").get<std::vector<TokenId>>();
  const std::vector<TokenId> few(tokens.begin(), tokens.begin() + 12);
  const SimdTarget best = usable_simd_targets().back();
  ScheduledModel whole(model_path(), {.device = {.threads = 2, .simd = best}});
  const auto session = whole.open();
  const Logits expected = append(whole, *session, few);

  ScheduledModel cut(model_path(), {.device = {.threads = 1, .simd = best}, .batch_rows = 5});
  const auto own = cut.open(), other = cut.open();
  LogitsPass pass(*own, few);
  LogitsPass beside(*other, {tokens.begin() + 12, tokens.begin() + 21});
  cut.run();
  EXPECT_TRUE(equal_bits(pass.take(), expected));

#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) return;
#endif
  ScheduledModel plain(model_path(), {.device = {.threads = 2, .kernels = KernelChoice::reference}});
  const auto plain_session = plain.open();
  const Logits first = append(plain, *plain_session, {few[0], few[1]});
  EXPECT_TRUE(equal_bits(first, {expected[0], expected[1]}));
}

}  // namespace
}  // namespace plm
