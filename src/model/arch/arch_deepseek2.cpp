// DeepSeek-V2 (arXiv 2405.04434) and V3 (arXiv 2412.19437), Kimi K2 and other networks that say "deepseek2": latent
// attention, and behind some dense layers a mixture of experts with shared ones; V3 chooses by sigmoids with a bias,
// among the experts of the best groups. Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/layers/dense_model.h"
#include "model/layers/rope_settings.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_latent_config(file));
  PLM_TRY(refuse_window(file, config));
  PLM_TRY(add_experts(file, {}, config));
  return DenseModel::load(file, device, std::move(config));
}

struct HeadParts {
  std::uint64_t heads, plain, rotated, value;
};

Result<HeadParts> read_parts(const ConfigReader& config) {
  HeadParts parts{};
  PLM_TRY_ASSIGN(parts.heads, config.integer("num_attention_heads", {1, kMostSize}));
  PLM_TRY_ASSIGN(parts.plain, config.integer("qk_nope_head_dim", {1, 4096}));
  PLM_TRY_ASSIGN(parts.rotated, config.integer("qk_rope_head_dim", {2, 4096}));
  PLM_TRY_ASSIGN(parts.value, config.integer("v_head_dim", {1, 4096}));
  return parts;
}

// kv_b_proj holds for each head the rows that make its keys, then those that make its values, of kv_lora_rank numbers.
Result<TensorCut> cut_head(const ConfigReader& config, std::span<const std::uint64_t> shape, bool is_key) {
  PLM_TRY_ASSIGN(const HeadParts parts, read_parts(config));
  const std::uint64_t rows = parts.plain + parts.value;
  if (shape.size() != 2 || shape[0] != parts.heads * rows) {
    return config.error("num_attention_heads", fmt::format("such that kv_b_proj has {} rows for each", rows));
  }
  const std::uint64_t rank = shape[1];
  if (is_key) {  // transposed: it is applied to queries
    return TensorCut{.dims = {parts.plain, rank, parts.heads}, .step = rank, .row_step = 1, .matrix_step = rows * rank};
  }
  return TensorCut{.dims = {rank, parts.value, parts.heads},
                   .first = parts.plain * rank,
                   .step = 1,
                   .row_step = rank,
                   .matrix_step = rows * rank};
}
Result<TensorCut> cut_keys(const ConfigReader& config, std::span<const std::uint64_t> shape) {
  return cut_head(config, shape, true);
}
Result<TensorCut> cut_values(const ConfigReader& config, std::span<const std::uint64_t> shape) {
  return cut_head(config, shape, false);
}

constexpr CheckpointClass kClasses[] = {{"DeepseekV2ForCausalLM", "deepseek_v2"},
                                        {"DeepseekV3ForCausalLM", "deepseek_v3"}};
constexpr auto kSettings =
    joined(kDecoderSettings,
           std::to_array<SettingRule>({
               {.from = "q_lora_rank", .to = "attention.q_lora_rank", .required = false},
               {.from = "kv_lora_rank", .to = "attention.kv_lora_rank", .max = 4096},
               {.from = "kv_lora_rank", .to = "attention.value_length", .max = 4096},
               {.from = "v_head_dim", .to = "attention.value_length_mla", .max = 4096},
               {.from = "qk_rope_head_dim", .to = "rope.dimension_count", .max = 4096},
               {.from = "n_routed_experts", .to = "expert_count"},
               {.from = "num_experts_per_tok", .to = "expert_used_count"},
               {.from = "moe_intermediate_size", .to = "expert_feed_forward_length"},
               {.from = "n_shared_experts", .to = "expert_shared_count", .required = false},
               {.from = "first_k_dense_replace", .to = "leading_dense_block_count", .required = false, .min = 0},
               {.from = "routed_scaling_factor",
                .to = "expert_weights_scale",
                .kind = SettingKind::real,
                .required = false,
                .max = 1e6},
           }));
constexpr auto kOwnTensors = std::to_array<TensorRule>({
    {"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight"},
    {"model.layers.{}.self_attn.q_a_proj.weight", "blk.{}.attn_q_a.weight"},
    {"model.layers.{}.self_attn.q_a_layernorm.weight", "blk.{}.attn_q_a_norm.weight"},
    {"model.layers.{}.self_attn.q_b_proj.weight", "blk.{}.attn_q_b.weight"},
    {"model.layers.{}.self_attn.kv_a_proj_with_mqa.weight", "blk.{}.attn_kv_a_mqa.weight"},
    {"model.layers.{}.self_attn.kv_a_layernorm.weight", "blk.{}.attn_kv_a_norm.weight"},
    {.from = "model.layers.{}.self_attn.kv_b_proj.weight", .to = "blk.{}.attn_k_b.weight", .cut = cut_keys},
    {.from = "model.layers.{}.self_attn.kv_b_proj.weight", .to = "blk.{}.attn_v_b.weight", .cut = cut_values},
    {"model.layers.{}.mlp.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.shared_experts.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.mlp.shared_experts.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.mlp.shared_experts.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
});
constexpr auto kTensors = joined(joined(kDecoderTensors, kFeedForwardTensors), joined(kExpertTensors, kOwnTensors));

// How experts are chosen; only some of the ways to do so know of groups.
Result<void> add_router(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  const auto add = [&draft](std::string_view key, std::uint64_t value) {
    draft.keys.add_u32(draft.key(key), static_cast<std::uint32_t>(value));
  };
  PLM_TRY_ASSIGN(const std::string type, config.text("model_type"));
  const bool is_v3 = type == "deepseek_v3";
  PLM_TRY_ASSIGN(const std::string scores, config.text_or("scoring_func", is_v3 ? "sigmoid" : "softmax"));
  if (scores != "softmax" && scores != "sigmoid") return config.error("scoring_func", "softmax or sigmoid");
  add("expert_gating_func", scores == "softmax" ? 1 : 2);
  PLM_TRY_ASSIGN(const std::string method, config.text_or("topk_method", is_v3 ? "noaux_tc" : "greedy"));
  if (method != "greedy" && method != "group_limited_greedy" && method != "noaux_tc") {
    return config.error("topk_method", "greedy, group_limited_greedy or noaux_tc");
  }
  PLM_TRY_ASSIGN(const std::uint64_t groups, config.integer_or("n_group", 1, {1, 1024}));
  PLM_TRY_ASSIGN(const std::uint64_t used, config.integer_or("topk_group", groups, {1, 1024}));
  add("expert_group_count", method == "greedy" ? 1 : groups);
  add("expert_group_used_count", method == "greedy" ? 1 : used);
  PLM_TRY_ASSIGN(const bool is_normalised, config.boolean_or("norm_topk_prob", is_v3));
  draft.keys.add_boolean(draft.key("expert_weights_norm"), is_normalised);
  return {};
}

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY(demand_text(config, "hidden_act", "silu"));
  PLM_TRY(config.integer_or("moe_layer_freq", 1, {1, 1}));
  for (const auto& [setting, expected] : {std::pair{"attention_bias", false}, std::pair{"rope_interleave", true}}) {
    PLM_TRY_ASSIGN(const bool value, config.boolean_or(setting, expected));
    if (value != expected) return config.error(setting, fmt::format("{}; this version knows no other", expected));
  }
  PLM_TRY_ASSIGN(const HeadParts parts, read_parts(config));
  PLM_TRY_ASSIGN(const std::uint64_t rank, config.integer("kv_lora_rank", {1, 4096}));
  draft.keys.add_u32(draft.key("attention.head_count_kv"), 1);
  draft.keys.add_u32(draft.key("attention.key_length"), static_cast<std::uint32_t>(rank + parts.rotated));
  draft.keys.add_u32(draft.key("attention.key_length_mla"), static_cast<std::uint32_t>(parts.plain + parts.rotated));
  PLM_TRY(add_router(draft));
  return add_rope_settings(draft, parts.rotated, {.stretches_scores = true});
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_deepseek2 = {
    .head = {.name = "deepseek2",
             .summary = "DeepSeek-V2 and V3, Kimi K2: latent attention, experts of which some are shared",
             .source = "arXiv 2405.04434"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
