#include "engine/sampling_defaults.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "sampling/chain.h"

namespace plm {
namespace {

SamplingDefaults defaults_of(const std::vector<std::string>& keys) {
  const auto file = GgufFile::open(std::string(PLM_MODELS) + "/twin-ar.gguf").value();
  return read_sampling_defaults(*GgufFile::overridden(file, keys).value());
}

const std::vector<std::string> kAdvice = {
    "general.sampling.sequence=str:penalties;top_k;typ_p;temperature",
    "general.sampling.top_k=int:64",
    "general.sampling.top_p=float:0.95",
    "general.sampling.temp=float:0.6",
    "general.sampling.penalty_last_n=int:128",
    "general.sampling.penalty_repeat=float:1.05",
};

Json applied_to(const std::vector<std::pair<std::string, std::string>>& flags) {
  Settings settings(sampling_parameters());
  for (const auto& [name, value] : flags) EXPECT_TRUE(settings.set_text(name, value)) << name;
  const Json applied = apply_sampling_defaults(defaults_of(kAdvice), settings);
  for (const auto& [name, value] : applied.items()) {
    EXPECT_EQ(settings.as_json().at(name), value);
    EXPECT_TRUE(settings.was_given(name));
  }
  return applied;
}

TEST(SamplingDefaults, StandWhereNobodyElseSays) {
  // top_p has no place in the order that the model's file wants.
  EXPECT_EQ(applied_to({}), Json({{"samplers", "penalties;top_k;typ_p;temperature"},
                                  {"top_k", 64},
                                  {"temperature", 0.6},
                                  {"repeat_last_n", 128},
                                  {"repeat_penalty", 1.05}}));
  const Json beside_flags = applied_to({{"top_k", "5"}, {"samplers", "top_k;top_p"}});
  EXPECT_EQ(beside_flags, Json({{"top_p", 0.95}, {"repeat_last_n", 128}}));  // a window, without a penalty
}

TEST(SamplingDefaults, StandBelowTheProfile) {
  EXPECT_EQ(applied_to({{"profile", "llamacpp"}})["samplers"], "penalties;top_k;typ_p;temperature");
  EXPECT_EQ(applied_to({{"profile", "ollama"}}),
            Json({{"top_k", 64}, {"temperature", 0.6}, {"repeat_last_n", 128}, {"repeat_penalty", 1.05}}));
  EXPECT_EQ(applied_to({{"profile", "openai"}}), Json::object());
}

TEST(SamplingDefaults, BadAdviceIsAWarning) {
  EXPECT_TRUE(defaults_of({}).values.empty());
  EXPECT_TRUE(defaults_of({}).warnings.empty());
  for (const char* key : {"general.sampling.top_p=float:7", "general.sampling.top_k=str:x",
                          "general.sampling.sequence=str:top_k;bogus"}) {
    const auto defaults = defaults_of({key});
    EXPECT_TRUE(defaults.values.empty()) << key;
    ASSERT_EQ(defaults.warnings.size(), 1U) << key;
    EXPECT_NE(defaults.warnings[0].find(std::string(key).substr(0, std::string(key).find('='))), std::string::npos);
  }
}

}  // namespace
}  // namespace plm
