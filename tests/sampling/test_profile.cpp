#include "sampling/profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

std::string names(const Chain& chain) {
  std::string joined;
  for (const Json& sampler : chain.describe()) {
    joined += (joined.empty() ? "" : ";") + sampler["name"].get<std::string>();
  }
  return joined;
}

bool warns_of(const Chain& chain, std::string_view start) {
  return std::any_of(chain.warnings().begin(), chain.warnings().end(),
                     [&](const std::string& sentence) { return sentence.starts_with(start); });
}

TEST(Profile, EveryDefaultIsAValueThatIsAllowed) {
  std::string all;
  for (const Profile& profile : profiles()) {
    all += (all.empty() ? "" : ", ") + std::string(profile.name);
    Settings settings(sampling_parameters());
    ASSERT_TRUE(settings.set_text("profile", profile.name));
    const auto chain = Chain::create(settings);
    ASSERT_TRUE(chain) << profile.name << ": " << chain.error().message;
    EXPECT_TRUE(chain->warnings().empty()) << profile.name << ": " << chain->warnings()[0];
    for (const ProfileValue& value : profile.values) {
      EXPECT_NE(settings.find(value.name), nullptr) << profile.name << " " << value.name;
    }
  }
  EXPECT_EQ(all, kProfileNames);
}

TEST(Profile, DefaultsMakeTheChainOfTheBackEnd) {
  EXPECT_EQ(names(chain_of({})), "top_k;top_p;min_p;temperature");
  EXPECT_EQ(names(chain_of({{"profile", "llamacpp"}})), "top_k;top_p;min_p;temperature");
  EXPECT_EQ(names(chain_of({{"profile", "koboldcpp"}})), "top_k;top_k;top_p;temperature");
  EXPECT_EQ(names(chain_of({{"profile", "ollama"}})), "top_k;top_p;temperature");
  EXPECT_EQ(names(chain_of({{"profile", "vllm"}})), "");
  EXPECT_EQ(names(chain_of({{"profile", "openai"}})), "");
  EXPECT_EQ(names(chain_of({{"profile", "vllm"}, {"temperature", "0.5"}, {"min_p", "0.1"}, {"top_p", "0.9"}})),
            "temperature;min_p;top_p");
}

TEST(Profile, MirostatReplacesTheChain) {
  const Chain llama = chain_of({{"profile", "llamacpp"}, {"mirostat", "2"}, {"repeat_penalty", "1.5"}});
  EXPECT_EQ(names(llama), "temperature;mirostat");
  EXPECT_TRUE(warns_of(llama, "repeat_penalty: has no effect"));
  EXPECT_EQ(names(chain_of({{"mirostat", "1"}, {"repeat_penalty", "1.5"}})), "penalties;temperature;mirostat");
  EXPECT_EQ(names(chain_of({{"mirostat", "1"}, {"samplers", "mirostat;top_k"}})), "top_k;mirostat");
}

TEST(Profile, WhatHasNoEffectIsSaid) {
  EXPECT_TRUE(warns_of(chain_of({{"samplers", "top_k"}, {"top_p", "0.5"}}), "top_p: has no effect"));
  EXPECT_FALSE(warns_of(chain_of({{"samplers", "top_k"}, {"top_p", "1"}}), "top_p"));
  EXPECT_TRUE(warns_of(chain_of({{"profile", "openai"}, {"top_k", "5"}}), "top_k: the openai profile has no such"));
  EXPECT_TRUE(warns_of(chain_of({{"profile", "ollama"}, {"samplers", "top_k"}}), "samplers: "));
  EXPECT_TRUE(warns_of(chain_of({{"profile", "llamacpp"}, {"samplers", "bogus"}}), "samplers: \"bogus\""));
  EXPECT_EQ(names(chain_of({{"profile", "llamacpp"}, {"samplers", "top_k"}, {"logit_bias", "1=2"}})),
            "logit_bias;top_k");
}

// A command's settings hold its own flags beside the controls; those are no business of a profile.
TEST(Profile, OtherSettingsAreLeftAlone) {
  static const std::vector<Parameter> more = [] {
    const auto sampling = sampling_parameters();
    std::vector<Parameter> all(sampling.begin(), sampling.end());
    all.push_back({.name = "max_tokens", .type = ParameterType::integer});
    return all;
  }();
  Settings settings(more);
  ASSERT_TRUE(settings.set_text("max_tokens", "5"));
  ASSERT_TRUE(settings.set_text("profile", "openai"));
  EXPECT_TRUE(Chain::create(settings)->warnings().empty());
}

TEST(Profile, RulesBeyondTables) {
  const Chain cold = chain_of({{"profile", "vllm"}, {"temperature", "1e-6"}, {"top_p", "0.5"}});
  EXPECT_TRUE(cold.is_greedy());
  EXPECT_TRUE(warns_of(chain_of({{"profile", "vllm"}, {"temperature", "0.001"}}), "temperature: 0.001"));
  EXPECT_TRUE(chain_of({{"profile", "koboldcpp"}, {"temperature", "0"}}).is_greedy());
  const Chain kobold = chain_of({{"profile", "koboldcpp"}, {"frequency_penalty", "0.5"}});
  EXPECT_EQ(kobold.describe()[1]["name"], "penalties");
  EXPECT_EQ(kobold.describe()[1]["presence_penalty"], 0.5);
  EXPECT_TRUE(warns_of(kobold, "frequency_penalty: "));
}

TEST(Profile, RangesAreClampedOrRefused) {
  std::vector<std::string> warnings;
  Settings settings(sampling_parameters());
  const Profile& llama = find_profile("llamacpp");
  ASSERT_TRUE(set_in_profile(llama, settings, "top_p", 7, warnings));
  EXPECT_EQ(settings.real("top_p"), 1);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "top_p: 7 is out of the llamacpp profile's range and was set to 1");
  EXPECT_FALSE(set_in_profile(llama, settings, "top_p", "0.5", warnings));
  EXPECT_TRUE(set_in_profile(llama, settings, "top_k", nullptr, warnings));
  EXPECT_FALSE(set_in_profile(llama, settings, "bogus", 1, warnings));
  for (const Values& values :
       {Values{{"profile", "vllm"}, {"temperature", "2.5"}}, Values{{"profile", "vllm"}, {"top_p", "0"}},
        Values{{"profile", "openai"}, {"presence_penalty", "3"}},
        Values{{"profile", "llamacpp"}, {"repeat_last_n", "-1"}}}) {
    Settings refused(sampling_parameters());
    for (const auto& [name, value] : values) ASSERT_TRUE(refused.set_text(name, value));
    const auto chain = Chain::create(refused);
    ASSERT_FALSE(chain) << values[1].first;
    EXPECT_EQ(chain.error().kind, ErrorKind::usage);
    EXPECT_TRUE(chain.error().message.starts_with(values[1].first));
  }
}

// What a profile says of the prompt: presence and frequency count the answer only where OpenAI's API is followed.
TEST(Profile, CountsThePromptAsTheBackEndDoes) {
  const std::vector<float> logits = {1, 1, 1, 1};
  for (const auto& [profile, counted] : {std::pair{"llamacpp", 2}, {"koboldcpp", 2}, {"vllm", 1}, {"openai", 1}}) {
    Chain chain = chain_of({{"profile", profile}, {"presence_penalty", "0.5"}, {"temperature", "1"}, {"top_p", "1"}});
    chain.begin(std::vector<std::int32_t>{2});
    chain.accept(3);
    Candidates workspace;
    ASSERT_TRUE(chain.select(logits, {}, workspace));
    int lowered = 0;
    for (const Candidate& candidate : in_canonical_order(workspace)) lowered += candidate.logit == 0.5F;
    EXPECT_EQ(lowered, counted) << profile;
  }
}

// llama.cpp's own reading of request bodies, as far as it is about samplers. The vector of 025 is what its first stage
// says of repeat_penalty 0; its second, which builds the chain, refuses it. Ours has one stage, which refuses it.
TEST(Profile, LlamaRequestsMeanWhatTheyMeanThere) {
  const Profile& llama = find_profile("llamacpp");
  int cases = 0;
  for (const Json& test_case : golden_cases("request_mapping.json")) {
    const std::string id = test_case["id"];
    SCOPED_TRACE(id);
    Settings settings(sampling_parameters());
    std::vector<std::string> warnings;
    Result<void> outcome;
    bool is_ours = true;
    for (const auto& [key, value] : test_case["request"].items()) {
      const Parameter* parameter = settings.find(key);
      is_ours = is_ours && parameter != nullptr && key != "logit_bias" && key != "samplers";
      if (!is_ours || !outcome) break;
      outcome = set_in_profile(llama, settings, key, value, warnings);
    }
    if (!is_ours) continue;
    ++cases;
    auto effective = outcome ? effective_settings(llama, settings, warnings) : tl::unexpected(outcome.error());
    EXPECT_EQ(!effective.has_value(), test_case.value("error", id == "request-025"));
    if (!effective) {
      EXPECT_EQ(effective.error().kind, ErrorKind::usage);
      const std::string named = test_case["request"].items().begin().key();
      EXPECT_NE(effective.error().message.find(named), std::string::npos) << effective.error().message;
      continue;
    }
    const Json values = effective->as_json();
    const Json& expected = test_case.contains("effective") ? test_case["effective"] : test_case["changed"];
    for (const auto& [key, value] : expected.items()) {
      if (!values.contains(key) || key == "samplers" || key == "logit_bias" || key == "ignore_eos") continue;
      if (key == "dry_sequence_breakers") {
        EXPECT_EQ(values[key], json_text(value)) << key;
      } else {
        // Where llama.cpp lets a value pass that does nothing, ours is the nearest that is allowed and does nothing.
        const Parameter& parameter = *settings.find(key);
        EXPECT_EQ(values[key].get<double>(), std::clamp(value.get<double>(), parameter.min, parameter.max)) << key;
      }
    }
  }
  EXPECT_EQ(cases, 12);
}

}  // namespace
}  // namespace plm
