// Gemma 3 270M Q4_K_M, a model that people use, against what transformers computes from the same weights unpacked to
// float32; ids in, so that no tokeniser takes part. Covers src/model/arch/arch_gemma3.cpp. The model is looked for in
// PLM_TEST_GEMMA3, then where `plm fetch gemma-3-270m` puts it; without it, and under sanitizers, the tests are
// skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/json.h"
#include "engine/scheduled_model.h"

namespace plm {
namespace {

constexpr double kDecisive = 0.1;  // margins in nat below which rounding may choose otherwise

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string model_path() {
  if (const std::string path = environment("PLM_TEST_GEMMA3"); !path.empty()) return path;
  const std::string cache = environment("PLM_CACHE");
  return (cache.empty() ? environment("HOME") + "/.cache/plm" : cache) + "/gemma-3-270m.gguf";
}

class Gemma3 : public testing::TestWithParam<std::pair<Activations, double>> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "too large for a sanitizer";
#endif
    if (!std::filesystem::exists(model_path())) GTEST_SKIP() << "no " << model_path() << "; plm fetch gemma-3-270m";
  }
  static Json prompts() {
    std::ifstream file(std::string(PLM_GOLDEN) + "/real/gemma3-270m-q4_k_m.hf.json");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    return parse_json(text, "golden").value().at("prompts");
  }
};

double log_sum_exp(const std::vector<float>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

TEST_P(Gemma3, LogProbabilitiesAreNearThoseOfFloat32) {
  ScheduledModel model(model_path(), {.device = {.threads = 2, .activations = GetParam().first}});
  double difference = 0;
  std::size_t count = 0;
  const Json all = prompts();
  for (const auto& [name, prompt] : all.items()) {
    const auto golden = prompt.at("top20").get<std::vector<std::vector<std::pair<TokenId, double>>>>();
    const auto session = model.open();
    const Logits rows = append(model, *session, prompt.at("ids").get<std::vector<TokenId>>());
    ASSERT_GE(rows.size(), golden.size());
    for (std::size_t i = 0; i < golden.size(); ++i) {
      const double total = log_sum_exp(rows[i]);
      const auto top = std::max_element(rows[i].begin(), rows[i].end()) - rows[i].begin();
      const double margin = golden[i][0].second - golden[i][1].second;
      EXPECT_TRUE(top == golden[i][0].first || margin < kDecisive) << name << " " << i;
      for (const auto& [id, log_probability] : golden[i]) {
        difference += std::abs(rows[i][static_cast<std::size_t>(id)] - total - log_probability);
        ++count;
      }
    }
  }
  ASSERT_GT(count, 3000U);
  RecordProperty("mean_difference", std::to_string(difference / static_cast<double>(count)));
  EXPECT_LE(difference / static_cast<double>(count), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Activations, Gemma3,
                         testing::Values(std::pair{Activations::f32, 0.001}, std::pair{Activations::int16, 0.02}),
                         [](const auto& instance) {
                           return std::string(instance.param.first == Activations::f32 ? "f32" : "int16");
                         });

}  // namespace
}  // namespace plm
