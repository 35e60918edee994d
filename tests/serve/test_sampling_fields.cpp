#include "serve/sampling_fields.h"

#include <gtest/gtest.h>

#include "serve/served_twin.h"
#include "serve/text_fields.h"

namespace plm {
namespace {

constexpr FieldTable kTables[] = {text_fields, sampling_only_fields, foreign_fields};

Result<TextPlan> read(std::string_view profile, const Json& body) {
  PLM_TRY_ASSIGN(const RequestFields fields, RequestFields::read(kTables, body));
  TextPlan plan;
  PLM_TRY(read_sampling(fields, profile, twin().model(), plan));
  return plan;
}
TextPlan plan_of(std::string_view profile, const Json& body) {
  auto plan = read(profile, body);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return std::move(plan).value();
}
std::string error_of(const Json& body) {
  const auto plan = read("llamacpp", body);
  return plan.has_value() ? "none" : plan.error().message;
}

TEST(SamplingFields, NamesOfManyServersMeanOneControl) {
  const std::pair<const char*, const char*> names[] = {{"repetition_penalty", "repeat_penalty"},
                                                       {"rep_pen", "repeat_penalty"},
                                                       {"repetition_penalty_range", "repeat_last_n"},
                                                       {"rep_pen_range", "repeat_last_n"},
                                                       {"typical", "typical_p"},
                                                       {"tfs_z", "tfs"},
                                                       {"nsigma", "top_n_sigma"},
                                                       {"mirostat_mode", "mirostat"},
                                                       {"min_length", "min_tokens"}};
  for (const auto& [sent, parameter] : names) {
    const TextPlan plan = plan_of("plm", {{sent, 1}});
    EXPECT_TRUE(plan.sampling.was_given(parameter)) << sent;
  }
  EXPECT_TRUE(plan_of("llamacpp", {{"ignore_eos", true}}).sampling.boolean("ban_eos"));
  EXPECT_EQ(plan_of("plm", {{"top_k", 40.0}}).sampling.integer("top_k"), 40);
}

TEST(SamplingFields, TheNameBeatsItsAliases) {
  const TextPlan plan = plan_of("plm", {{"rep_pen", 1.3}, {"repeat_penalty", 1.1}, {"repetition_penalty", 1.2}});
  EXPECT_EQ(plan.sampling.real("repeat_penalty"), 1.1);
}

TEST(SamplingFields, OpenaiGrowsWhenAClientSendsMore) {
  EXPECT_EQ(plan_of("openai", {{"temperature", 0.5}}).report.profile, "openai");
  EXPECT_EQ(plan_of("openai", {{"min_p", 0.1}}).report.profile, "plm");
  EXPECT_EQ(plan_of("openai", {{"min_p", 0}, {"top_k", -1}, {"xtc_probability", 0}}).report.profile, "openai")
      << "off is nothing more";
  EXPECT_EQ(plan_of("openai", {{"api_type", "koboldcpp"}}).report.profile, "koboldcpp");
  EXPECT_EQ(plan_of("openai", {{"profile", "vllm"}}).report.profile, "vllm");
  const TextPlan plan = plan_of("openai", {{"min_p", 0.1}});
  EXPECT_EQ(plan.sampling.real("temperature"), 1.0) << "OpenAI's default, not another server's";
  EXPECT_EQ(plan.sampling.integer("top_k"), 0);
  EXPECT_NE(error_of({{"profile", "magic"}}).find("profile: found \"magic\""), std::string::npos);
}

TEST(SamplingFields, SaysWhatIsIgnoredAndClamped) {
  const TextPlan plan = plan_of("llamacpp", {{"top_a", 0.3}, {"top_p", 7}, {"tfs", 1}, {"smoothing_factor", 0}});
  EXPECT_EQ(plan.report.ignored, std::vector<std::string>{"top_a"}) << "neutral ones change nothing";
  EXPECT_EQ(plan.report.clamped, std::vector<std::string>{"top_p"});
}

TEST(SamplingFields, OrdersInEachNotation) {
  EXPECT_EQ(plan_of("llamacpp", {{"samplers", {"top_k", "temperature"}}}).sampling.text("samplers"),
            "top_k;temperature");
  EXPECT_EQ(plan_of("llamacpp", {{"samplers", "kt"}}).sampling.text("sampler_seq"), "kt");
  EXPECT_EQ(plan_of("koboldcpp", {{"sampler_order", {6, 0, 1, 3, 4, 2, 5}}}).sampling.text("sampler_order"),
            "[6,0,1,3,4,2,5]");
  const TextPlan ooba = plan_of(
      "openai", {{"sampler_priority", {"temperature", "quadratic_sampling", "eta_cutoff", "mirostat", "top_k"}}});
  EXPECT_EQ(ooba.sampling.text("samplers"), "dry;penalties;temperature;smoothing;top_k;xtc");
  EXPECT_EQ(ooba.report.notes.size(), 1U);
  EXPECT_NE(error_of({{"samplers", {"magic"}}}).find("unknown sampler \"magic\""), std::string::npos);
  EXPECT_EQ(error_of({{"samplers", {5}}}).find("samplers: "), 0U);
  EXPECT_EQ(error_of({{"sampler_order", "x"}}).find("sampler_order: "), 0U);
}

TEST(SamplingFields, BiasesAndBansAreOneControl) {
  const Json both = {{"logit_bias", {{"5", 1.5}}}, {"custom_token_bans", "7, 9"}};
  EXPECT_EQ(plan_of("llamacpp", both).sampling.text("logit_bias"), R"([["5",1.5],[7,false],[9,false]])");
  EXPECT_FALSE(plan_of("llamacpp", {{"logit_bias", Json::array()}}).sampling.was_given("logit_bias"));
  EXPECT_EQ(error_of({{"custom_token_bans", "a"}}).find("custom_token_bans: "), 0U);
  EXPECT_EQ(error_of({{"logit_bias", 5}}).find("logit_bias: "), 0U);
}

TEST(SamplingFields, DynamicTemperatureIsARange) {
  const TextPlan plan = plan_of(
      "plm", {{"dynamic_temperature", true}, {"dynatemp_low", 0.5}, {"dynatemp_high", 1.5}, {"temperature", 9}});
  EXPECT_EQ(plan.sampling.real("temperature"), 1.0);
  EXPECT_EQ(plan.sampling.real("dynatemp_range"), 0.5);
  EXPECT_EQ(error_of({{"dynamic_temperature", true}}).find("dynamic_temperature: "), 0U);
  EXPECT_EQ(
      error_of({{"dynamic_temperature", true}, {"dynatemp_low", 2}, {"dynatemp_high", 1}}).find("dynatemp_high: "), 0U);
}

TEST(SamplingFields, ErrorsBeginWithTheFieldAsItWasSent) {
  EXPECT_EQ(error_of({{"temperature", "0.5"}}).find("temperature: "), 0U);
  EXPECT_EQ(error_of({{"rep_pen", "x"}}).find("rep_pen: "), 0U);
  EXPECT_EQ(error_of({{"adaptive_decay", 1.0}}).find("adaptive_decay: "), 0U);
}

}  // namespace
}  // namespace plm
