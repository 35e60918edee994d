// Qwen3 with a mixture of experts (arXiv 2505.09388): the attention of Qwen3, and in every layer k of many experts,
// whose weights add up to 1. Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.query_key_norm = QueryKeyNorm::per_head;
  PLM_TRY(refuse_window(file, config));
  PLM_TRY(add_experts(file, {.rule = {.is_normalised = true}}, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr CheckpointClass kClasses[] = {{"Qwen3MoeForCausalLM", "qwen3_moe"}};
constexpr auto kSettings = joined(joined(kDecoderSettings, kHeadSettings),
                                  std::to_array<SettingRule>({
                                      {.from = "num_experts", .to = "expert_count"},
                                      {.from = "num_experts_per_tok", .to = "expert_used_count"},
                                      {.from = "moe_intermediate_size", .to = "expert_feed_forward_length"},
                                  }));
constexpr auto kTensors = joined(joined(kDecoderTensors, kHeadTensors),
                                 joined(joined(kHeadNormTensors, kFeedForwardTensors), kExpertTensors));

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(complete_experts(draft));
  return complete_decoder(draft);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_qwen3moe = {
    .head = {.name = "qwen3moe", .summary = "Qwen3 with a mixture of experts", .source = "arXiv 2505.09388"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
