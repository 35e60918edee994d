// Qwen1.5 and Qwen2 with a mixture of experts (arXiv 2407.10671): the attention of Qwen2, and beside the chosen experts
// one that all rows share, behind a gate of its own. Tested by tests/model/test_families.cpp against an independent
// float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  PLM_TRY(refuse_window(file, config));
  PLM_TRY(add_experts(file, {.has_shared_gate = true}, config));
  return DenseModel::load(file, device, std::move(config));
}

// A matrix of one row is a vector in GGUF.
Result<TensorCut> only_row(const ConfigReader&, std::span<const std::uint64_t> shape) {
  return TensorCut{.dims = {shape.back()}};
}

constexpr CheckpointClass kClasses[] = {{"Qwen2MoeForCausalLM", "qwen2_moe"}};
constexpr auto kSettings =
    joined(joined(kDecoderSettings, kHeadSettings),
           std::to_array<SettingRule>({
               {.from = "num_experts", .to = "expert_count"},
               {.from = "num_experts_per_tok", .to = "expert_used_count"},
               {.from = "moe_intermediate_size", .to = "expert_feed_forward_length"},
               {.from = "shared_expert_intermediate_size", .to = "expert_shared_feed_forward_length"},
           }));
constexpr auto kShared = std::to_array<TensorRule>({
    {.from = "model.layers.{}.mlp.shared_expert_gate.weight",
     .to = "blk.{}.ffn_gate_inp_shexp.weight",
     .is_float32 = true,
     .cut = only_row},
    {"model.layers.{}.mlp.shared_expert.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.mlp.shared_expert.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.mlp.shared_expert.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
});
constexpr auto kTensors =
    joined(joined(kDecoderTensors, kHeadTensors), joined(joined(kFeedForwardTensors, kExpertTensors), kShared));

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

extern constinit const Architecture arch_qwen2moe = {
    .head = {.name = "qwen2moe",
             .summary = "Qwen1.5 and Qwen2 with a mixture of experts and a shared one",
             .source = "arXiv 2407.10671"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
