// OLMoE (arXiv 2409.02060): queries and keys normalised over all heads together, and k of many experts in every layer,
// whose weights are those of all experts' softmax. Tested by tests/model/test_families.cpp against an independent
// float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.query_key_norm = QueryKeyNorm::whole;
  PLM_TRY(refuse_window(file, config));
  PLM_TRY(add_experts(file, {}, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr CheckpointClass kClasses[] = {{"OlmoeForCausalLM", "olmoe"}};
constexpr auto kSettings =
    joined(joined(kDecoderSettings, kHeadSettings), std::to_array<SettingRule>({
                                                        {.from = "num_experts", .to = "expert_count"},
                                                        {.from = "num_experts_per_tok", .to = "expert_used_count"},
                                                    }));
constexpr auto kTensors = joined(joined(kDecoderTensors, kHeadTensors),
                                 joined(joined(kHeadNormTensors, kFeedForwardTensors), kExpertTensors));

Result<void> complete_draft(CheckpointDraft& draft) {
  if (draft.config.has("clip_qkv")) return draft.config.error("clip_qkv", "null; this version clips nothing");
  PLM_TRY(complete_experts(draft));
  return complete_decoder(draft);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_olmoe = {
    .head = {.name = "olmoe",
             .summary = "OLMoE: a mixture of experts with normalised queries and keys",
             .source = "arXiv 2409.02060"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
