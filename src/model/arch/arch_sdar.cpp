// SDAR (arXiv 2510.06303): Qwen3's network, dense or with a mixture of experts, made to fill masks block by block. Rows
// of a block see one another and all blocks before it, counted from the start of the text, so what is written is
// remembered exactly. Tested by tests/model/test_masked_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/diffusion_form.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

constexpr DiffusionTraits kTraits{
    .attention = DiffusionAttention::block_causal, .block_length = 4, .mask_token = 151669};

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file, Reading::whole_page));
  config.query_key_norm = QueryKeyNorm::per_head;
  PLM_TRY(refuse_window(file, config));
  PLM_TRY_ASSIGN(const std::size_t experts, file.integer_or("expert_count", 0, {0, RouterRule::kMostExperts}));
  if (experts > 0) PLM_TRY(add_experts(file, {.rule = {.is_normalised = true}}, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr std::string_view kMixture = "SDARMoeForCausalLM";
constexpr CheckpointClass kClasses[] = {{"SDARForCausalLM", "sdar"}, {kMixture, "sdar_moe"}};
constexpr auto kSettings =
    joined(kDenseSettings, std::to_array<SettingRule>({
                               {.from = "num_experts", .to = "expert_count", .required = false},
                               {.from = "num_experts_per_tok", .to = "expert_used_count", .required = false},
                               {.from = "moe_intermediate_size", .to = "expert_feed_forward_length", .required = false},
                           }));
constexpr auto kTensors = joined(joined(kDecoderTensors, kHeadTensors),
                                 joined(joined(kHeadNormTensors, kFeedForwardTensors), kExpertTensors));

Result<void> complete_draft(CheckpointDraft& draft) {
  if (draft.kind.name == kMixture) PLM_TRY(complete_experts(draft));
  return complete_diffusion_draft(draft, kTraits);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_sdar = {
    .head = {.name = "sdar", .summary = "SDAR: Qwen3 that fills masks block by block", .source = "arXiv 2510.06303"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
};

}  // namespace plm
