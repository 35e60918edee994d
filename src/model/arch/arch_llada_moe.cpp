// LLaDA-MoE (arXiv 2509.24389): Llama without a causal mask, each query and key head normalised, and in every layer k
// of many experts, whose weights are those of all experts' softmax. Tested by tests/model/test_masked_families.cpp
// against an independent float32 oracle.
#include <algorithm>

#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/diffusion_form.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

constexpr DiffusionTraits kTraits{.mask_token = 156895};

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file, Reading::whole_page));
  config.query_key_norm = QueryKeyNorm::per_head;
  PLM_TRY(refuse_window(file, config));
  PLM_TRY(add_experts(file, {}, config));
  return DenseModel::load(file, device, std::move(config));
}

// What the class was called before it was published stands in some configurations.
constexpr CheckpointClass kClasses[] = {
    {"LLaDAMoEModelLM", "llada_moe"}, {"LLaDAMoEModelLM", "lladamoe"}, {"LLaDAMoEModelLM", "llada"}};
constexpr auto kSizes = std::to_array<SettingRule>({
    {.from = "num_hidden_layers", .to = "block_count", .max = kMostLayers},
    {.from = "max_position_embeddings", .to = "context_length", .max = kMostContext},
    {.from = "hidden_size", .to = "embedding_length"},
    {.from = "num_attention_heads", .to = "attention.head_count"},
    {.from = "rms_norm_eps", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
    {.from = "num_experts", .to = "expert_count"},
    {.from = "num_experts_per_tok", .to = "expert_used_count"},
    {.from = "expert_intermediate_size", .to = "expert_feed_forward_length"},
});
constexpr auto kSettings = joined(kSizes, kHeadSettings);
constexpr auto kTensors = joined(joined(kDecoderTensors, kHeadTensors),
                                 joined(joined(kHeadNormTensors, kFeedForwardTensors), kExpertTensors));

// What the published checkpoints have, and this network.
Result<void> refuse_variants(const ConfigReader& config) {
  for (const auto& [setting, expected] :
       {std::pair{"attention_bias", false}, std::pair{"moe_router_enable_expert_bias", false},
        std::pair{"moe_router_enable_shared_expert", false}, std::pair{"qk_layernorm", true}}) {
    PLM_TRY_ASSIGN(const bool value, config.boolean_or(setting, expected));
    if (value != expected) return config.error(setting, fmt::format("{}; this version knows no other", expected));
  }
  return {};
}

// Of layers without experts, of which there are none: not all checkpoints give it, GGUF wants it.
Result<void> add_feed_forward_size(CheckpointDraft& draft) {
  constexpr std::string_view kNames[] = {"intermediate_size", "dense_intermediate_size", "expert_intermediate_size"};
  const std::string_view name = *std::ranges::find_if(kNames, [&](auto each) { return draft.config.has(each); });
  PLM_TRY_ASSIGN(const std::uint64_t size, draft.config.integer(name, {1, kMostSize}));
  draft.keys.add_u32(draft.key("feed_forward_length"), static_cast<std::uint32_t>(size));
  return {};
}

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(demand_text(draft.config, "hidden_act", "silu"));
  PLM_TRY(refuse_windows(draft.config));
  PLM_TRY(refuse_variants(draft.config));
  PLM_TRY(complete_experts(draft));
  PLM_TRY(add_feed_forward_size(draft));
  PLM_TRY(add_diffusion_settings(draft, kTraits));
  return complete_dense_draft(draft, {.may_be_partial = true});
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_llada_moe = {
    .head = {.name = "llada-moe",
             .summary = "LLaDA with a mixture of experts, fills masks anywhere on the page",
             .source = "arXiv 2509.24389"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
};

}  // namespace plm
