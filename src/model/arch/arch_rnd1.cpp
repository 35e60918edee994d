// RND1 (Radical Numerics Diffusion v1): Qwen3's network with a mixture of experts, without a causal mask, made to fill
// masks; row i - 1 speaks for position i, as in the causal model it was made from. Source: its published code, which is
// named radicalnumerics/RND1. Tested by tests/model/test_masked_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/diffusion_form.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

constexpr DiffusionTraits kTraits{.shifts_logits = true, .mask_token = 151669};

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file, Reading::whole_page));
  config.query_key_norm = QueryKeyNorm::per_head;
  PLM_TRY(refuse_window(file, config));
  PLM_TRY(add_experts(file, {.rule = {.is_normalised = true}}, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr CheckpointClass kClasses[] = {{"RND1LM", "rnd1"}, {"RND1", "rnd1"}};
constexpr auto kSettings =
    joined(kDenseSettings, std::to_array<SettingRule>({
                               {.from = "num_experts", .to = "expert_count"},
                               {.from = "num_experts_per_tok", .to = "expert_used_count"},
                               {.from = "moe_intermediate_size", .to = "expert_feed_forward_length"},
                           }));
constexpr auto kTensors = joined(joined(kDecoderTensors, kHeadTensors),
                                 joined(joined(kHeadNormTensors, kFeedForwardTensors), kExpertTensors));

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(complete_experts(draft));
  return complete_diffusion_draft(draft, kTraits);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_rnd1 = {
    .head = {.name = "rnd1",
             .summary = "RND1: Qwen3 with a mixture of experts that fills masks anywhere on the page",
             .source = "radicalnumerics/RND1"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
};

}  // namespace plm
