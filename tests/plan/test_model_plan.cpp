// Tests of src/plan/model_plan.cpp and src/plan/plan_report.cpp.
#include "plan/model_plan.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "model/checkpoint.h"

namespace plm {
namespace {

PlanSubject twin() {
  return PlanSubject::from_file(open_checkpoint(PLM_MODELS "/twin-ar.gguf", CheckpointUse::inspection).value()).value();
}

constexpr std::string_view kConfig =
    R"({"model_type": "llama", "vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 512, "max_position_embeddings": 4096,
        "torch_dtype": "float16"})";

PlanSubject from_settings() {
  return PlanSubject::from_config(ConfigReader::parse(kConfig, "config.json").value()).value();
}

TEST(ModelPlan, AFileIsPlannedAsItIs) {
  const PlanSubject subject = twin();
  const ModelPlan plan = make_plan(subject, {.context = 512, .sequences = 2}).value();
  std::uint64_t parameters = 0;
  for (const TypeShare& share : plan.types) parameters += share.parameters;
  EXPECT_EQ(subject.counts->stored, parameters);
  EXPECT_EQ(plan.memory.peak(), plan.memory.weights.allocated() + 2 * plan.memory.pages.page * plan.memory.pages.pages +
                                    plan.memory.scratch.total());
  const Json json = plan_json(subject, plan);
  EXPECT_EQ(json["memory"]["peak"], plan.memory.peak());
  EXPECT_EQ(json["parameters"]["stored"], parameters);
  const std::string text = plan_text(subject, plan);
  for (const char* word : {"stored", "active", "multiplied", "without embeddings", "peak", "1000 tokens more"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

TEST(ModelPlan, SettingsAloneTellWhatAFileWould) {
  const PlanSubject subject = from_settings();
  EXPECT_EQ(subject.weights.name, "f16");
  EXPECT_EQ(standard_context(subject), 4096U);
  const ModelPlan plan = make_plan(subject, {.context = 256}).value();
  EXPECT_EQ(plan.weight_bytes, subject.counts->stored * 2);
  EXPECT_EQ(plan.memory.pages.page, 256U * 4 * 2 * 64 * 2 * 4);  // cells, layers, heads, numbers, key and value, bytes
  EXPECT_EQ(plan.next_thousand, 1000U * 4 * 2 * 64 * 2 * 4);
}

TEST(ModelPlan, AContextBeyondWhatWasTrainedIsWarnedOf) {
  EXPECT_EQ(make_plan(from_settings(), {.context = 8192})->warnings.size(), 1U);
  EXPECT_TRUE(make_plan(from_settings(), {.context = 4096})->warnings.empty());
  EXPECT_FALSE(make_plan(from_settings(), {.context = SketchLimits::kTokens + 1}).has_value());
}

TEST(ModelPlan, SettingsThatFitDoAndLongerOnesDoNot) {
  const PlanSubject subject = twin();
  const std::uint64_t memory = make_plan(subject, {.context = 256})->memory.peak();
  const auto settings = fitting_settings(subject, memory, {}).value();
  ASSERT_FALSE(settings.empty());
  for (const FittingSetting& setting : settings) {
    EXPECT_LE(setting.peak, memory);
    RunSizes sizes{.context = setting.context, .kv_types = setting.kv_types};
    EXPECT_EQ(make_plan(subject, sizes)->memory.peak(), setting.peak);
    if (setting.context >= subject.limits.positional) continue;
    sizes.context += 256;
    EXPECT_GT(make_plan(subject, sizes)->memory.peak(), memory) << setting.kv_types.name();
  }
  EXPECT_TRUE(std::ranges::is_sorted(settings, std::greater{}, &FittingSetting::context));
  EXPECT_TRUE(fitting_settings(subject, 1000, {})->empty());
}

TEST(ModelPlan, WithoutWeightsTheirTypeIsAChoice) {
  const auto settings = fitting_settings(from_settings(), 64U << 20, {}).value();
  EXPECT_GT(settings.size(), 10U);
  EXPECT_EQ(settings.front().weights.name, "bf16");
}

TEST(ModelPlan, SizesOfMemory) {
  EXPECT_EQ(parse_memory_size("8G").value(), std::uint64_t{8} << 30);
  EXPECT_EQ(parse_memory_size("1.5GiB").value(), std::uint64_t{3} << 29);
  EXPECT_EQ(parse_memory_size("512mb").value(), std::uint64_t{512} << 20);
  EXPECT_EQ(parse_memory_size("2000000").value(), 2000000U);
  for (const char* wrong : {"", "G", "8X", "-1G", "8GG", "1e300G"}) {
    EXPECT_FALSE(parse_memory_size(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace plm
