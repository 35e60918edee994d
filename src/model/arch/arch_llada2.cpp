// LLaDA 2 (arXiv 2512.15745): the network of Ling 2.0, made to fill masks block by block. Rows of a block see one
// another and all blocks before it. Each query and key head is normalised, half of it is rotated; behind some dense
// layers a mixture of experts, chosen by sigmoids with a bias among the experts of the best groups, beside shared ones.
// LLaDA 2.1 (arXiv 2602.08676) has the same network and corrects tokens that it wrote.
// Tested by tests/model/test_masked_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/diffusion_form.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

constexpr DiffusionTraits kTraits{.attention = DiffusionAttention::block_causal,
                                  .block_length = 32,
                                  // 2.1 and its successors correct what they wrote; their settings are those of 2.0.
                                  .editing_name = "llada2.1",
                                  .mask_token = 156895};

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file, Reading::whole_page));
  config.query_key_norm = QueryKeyNorm::per_head;
  PLM_TRY(refuse_window(file, config));
  const RouterRule rule{.scores = RouterRule::Scores::sigmoid, .is_normalised = true};
  PLM_TRY(add_experts(file, {.rule = rule}, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr CheckpointClass kClasses[] = {{"LLaDA2MoeModelLM", "llada2_moe"}};
constexpr auto kSettings =
    joined(kDenseSettings,
           std::to_array<SettingRule>({
               {.from = "num_experts", .to = "expert_count"},
               {.from = "num_experts_per_tok", .to = "expert_used_count"},
               {.from = "moe_intermediate_size", .to = "expert_feed_forward_length"},
               {.from = "num_shared_experts", .to = "expert_shared_count", .required = false, .min = 0},
               {.from = "first_k_dense_replace", .to = "leading_dense_block_count", .required = false, .min = 0},
               {.from = "n_group", .to = "expert_group_count", .required = false},
               {.from = "topk_group", .to = "expert_group_used_count", .required = false},
               {.from = "routed_scaling_factor",
                .to = "expert_weights_scale",
                .kind = SettingKind::real,
                .required = false,
                .max = 1e6},
           }));
constexpr auto kOwnTensors = std::to_array<TensorRule>({
    {"model.word_embeddings.weight", "token_embd.weight"},
    {"model.layers.{}.attention.query_key_value.weight", "blk.{}.attn_qkv.weight"},
    {"model.layers.{}.attention.query_layernorm.weight", "blk.{}.attn_q_norm.weight"},
    {"model.layers.{}.attention.key_layernorm.weight", "blk.{}.attn_k_norm.weight"},
    {"model.layers.{}.attention.dense.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.attention.dense.bias", "blk.{}.attn_output.bias"},
    {"model.layers.{}.mlp.gate.expert_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.shared_experts.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.mlp.shared_experts.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.mlp.shared_experts.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
});
constexpr auto kTensors = joined(kOwnTensors, joined(joined(kDecoderTensors, kFeedForwardTensors), kExpertTensors));

Result<void> refuse_variants(const ConfigReader& config) {
  for (const auto& [setting, expected] :
       {std::pair{"use_qkv_bias", false}, std::pair{"use_qk_norm", true}, std::pair{"norm_head", false}}) {
    PLM_TRY_ASSIGN(const bool value, config.boolean_or(setting, expected));
    if (value != expected) return config.error(setting, fmt::format("{}; this version knows no other", expected));
  }
  PLM_TRY(demand_text(config, "hidden_act", "silu"));
  PLM_TRY(demand_text(config, "score_function", "sigmoid"));
  return refuse_windows(config);
}

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY(refuse_variants(config));
  PLM_TRY_ASSIGN(const bool is_normalised, config.boolean_or("norm_topk_prob", true));
  draft.keys.add_boolean(draft.key("expert_weights_norm"), is_normalised);
  draft.keys.add_u32(draft.key("expert_gating_func"), 2);
  PLM_TRY(add_diffusion_settings(draft, kTraits));
  PLM_TRY_ASSIGN(const std::uint64_t head_dim, read_head_dim(config));
  const bool is_stated = config.has("partial_rotary_factor") || config.has("rope_parameters");
  if (is_stated) return add_rope_settings(draft, head_dim, {.may_be_partial = true});
  draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(head_dim / 2));
  return add_rope_settings(draft, head_dim / 2);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_llada2 = {
    .head = {.name = "llada2",
             .aliases = "llada2-moe",
             .summary = "LLaDA 2: Ling 2.0, with shared experts, that fills masks block by block",
             .source = "arXiv 2512.15745"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
};

}  // namespace plm
