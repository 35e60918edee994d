// Falcon-H1 (arXiv 2507.22448): in every layer attention and a Mamba-2 mixer side by side, reading the same rows. The
// model's many multipliers are inside the weights of its file. Tested by tests/model/test_hybrids.cpp against an
// independent float32 oracle.
#include <algorithm>
#include <numeric>
#include <string_view>

#include "model/architecture.h"
#include "model/layers/hybrid_model.h"
#include "model/layers/recurrent_settings.h"
#include "model/layers/rope_settings.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(HybridConfig config, read_hybrid_config(file));
  PLM_TRY_ASSIGN(const std::size_t kv_heads, file.integer("attention.head_count_kv", {1, kMostSize}));
  PLM_TRY(read_hybrid_attention(file, kv_heads, config));
  PLM_TRY_ASSIGN(config.recurrent, RecurrentSize::from_file(file, config.shape.hidden_size));
  PLM_TRY_ASSIGN(config.ffn_size, file.integer("feed_forward_length", {1, kMostSize}));
  PLM_TRY_ASSIGN(config.rope, Rope::from_file(file, config.attention.head_dim, config.shape.trained_context));
  config.mixers.assign(config.shape.layer_count, Mixer::attention_and_mamba);
  return HybridModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout: their multipliers go into the weights.
constexpr double kMostFactor = 1e6;

template <typename... Keys>
Result<RowMap> factor_of(const ConfigReader& config, Keys... keys) {
  double product = 1;
  for (const std::string_view key : {std::string_view(keys)...}) {
    PLM_TRY_ASSIGN(const double factor, config.positive_real_or(key, 1, kMostFactor));
    product *= factor;
  }
  return RowMap{.factors = {static_cast<float>(product)}};
}

// One of a list of factors.
Result<double> listed_factor(const ConfigReader& config, std::string_view key, std::size_t index, std::size_t count) {
  PLM_TRY_ASSIGN(const std::vector<double> factors, config.reals_or_none(key));
  if (factors.empty()) return 1.0;
  const bool is_usable = factors.size() == count && factors[index] > 0 && factors[index] <= kMostFactor;
  if (!is_usable) return config.error(key, fmt::format("a list of {} numbers above 0", count));
  return factors[index];
}

Result<RowMap> embedding_rows(const ConfigReader& config, std::size_t) {
  return factor_of(config, "embedding_multiplier");
}
Result<RowMap> head_rows(const ConfigReader& config, std::size_t) { return factor_of(config, "lm_head_multiplier"); }
Result<RowMap> attention_in_rows(const ConfigReader& config, std::size_t) {
  return factor_of(config, "attention_in_multiplier");
}
Result<RowMap> key_rows(const ConfigReader& config, std::size_t) {
  return factor_of(config, "attention_in_multiplier", "key_multiplier");
}
Result<RowMap> attention_out_rows(const ConfigReader& config, std::size_t) {
  return factor_of(config, "attention_out_multiplier");
}
Result<RowMap> ssm_out_rows(const ConfigReader& config, std::size_t) { return factor_of(config, "ssm_out_multiplier"); }
Result<RowMap> gate_rows(const ConfigReader& config, std::size_t) {
  PLM_TRY_ASSIGN(const double factor, listed_factor(config, "mlp_multipliers", 0, 2));
  return RowMap{.factors = {static_cast<float>(factor)}};
}
Result<RowMap> down_rows(const ConfigReader& config, std::size_t) {
  PLM_TRY_ASSIGN(const double factor, listed_factor(config, "mlp_multipliers", 1, 2));
  return RowMap{.factors = {static_cast<float>(factor)}};
}

Result<std::uint64_t> inner_size(const ConfigReader& config) {
  if (config.has("mamba_d_ssm")) return config.integer("mamba_d_ssm", {1, kMostSize});
  PLM_TRY_ASSIGN(const std::uint64_t hidden, config.integer("hidden_size", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t expand, config.integer_or("mamba_expand", 2, {1, 64}));
  return expand * hidden;
}

// z, x, B, C and dt have a factor each.
Result<RowMap> ssm_in_rows(const ConfigReader& config, std::size_t count) {
  PLM_TRY_ASSIGN(const std::uint64_t inner, inner_size(config));
  PLM_TRY_ASSIGN(const std::uint64_t groups, config.integer("mamba_n_groups", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t state, config.integer("mamba_d_state", {1, 4096}));
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer("mamba_n_heads", {1, kMostSize}));
  PLM_TRY_ASSIGN(const double all, config.positive_real_or("ssm_in_multiplier", 1, kMostFactor));
  const std::uint64_t sizes[] = {inner, inner, groups * state, groups * state, heads};
  if (std::accumulate(std::begin(sizes), std::end(sizes), std::uint64_t{0}) != count) {
    return config.error("mamba_d_ssm", fmt::format("that of in_proj, which has {} rows", count));
  }
  RowMap map;
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    PLM_TRY_ASSIGN(const double factor, listed_factor(config, "ssm_multipliers", i, std::size(sizes)));
    map.factors.insert(map.factors.end(), sizes[i], static_cast<float>(factor * all));
  }
  return map;
}

constexpr CheckpointClass kClasses[] = {{"FalconH1ForCausalLM", "falcon_h1"}};
constexpr auto kSettings =
    joined(std::to_array<SettingRule>({
               {.from = "num_hidden_layers", .to = "block_count", .max = kMostLayers},
               {.from = "max_position_embeddings", .to = "context_length", .max = 1U << 30},
               {.from = "hidden_size", .to = "embedding_length"},
               {.from = "intermediate_size", .to = "feed_forward_length"},
               {.from = "num_attention_heads", .to = "attention.head_count"},
               {.from = "num_key_value_heads", .to = "attention.head_count_kv"},
               {.from = "head_dim", .to = "attention.key_length", .required = false, .max = 4096},
               {.from = "head_dim", .to = "attention.value_length", .required = false, .max = 4096},
               {.from = "rms_norm_eps", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
               {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
           }),
           kMambaSettings);
constexpr auto kTensors = joined(
    std::to_array<TensorRule>({
        {.from = "model.embed_tokens.weight", .to = "token_embd.weight", .rows = embedding_rows},
        {"model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
        {.from = "model.layers.{}.self_attn.q_proj.weight", .to = "blk.{}.attn_q.weight", .rows = attention_in_rows},
        {.from = "model.layers.{}.self_attn.k_proj.weight", .to = "blk.{}.attn_k.weight", .rows = key_rows},
        {.from = "model.layers.{}.self_attn.v_proj.weight", .to = "blk.{}.attn_v.weight", .rows = attention_in_rows},
        {.from = "model.layers.{}.self_attn.o_proj.weight",
         .to = "blk.{}.attn_output.weight",
         .rows = attention_out_rows},
        {.from = "model.layers.{}.mamba.in_proj.weight", .to = "blk.{}.ssm_in.weight", .rows = ssm_in_rows},
        {.from = "model.layers.{}.mamba.out_proj.weight", .to = "blk.{}.ssm_out.weight", .rows = ssm_out_rows},
        {"model.layers.{}.pre_ff_layernorm.weight", "blk.{}.ffn_norm"},
        {.from = "model.layers.{}.feed_forward.gate_proj.weight", .to = "blk.{}.ffn_gate.weight", .rows = gate_rows},
        {"model.layers.{}.feed_forward.up_proj.weight", "blk.{}.ffn_up.weight"},
        {.from = "model.layers.{}.feed_forward.down_proj.weight", .to = "blk.{}.ffn_down.weight", .rows = down_rows},
        {"model.final_layernorm.weight", "output_norm.weight"},
        {.from = "lm_head.weight", .to = "output.weight", .rows = head_rows},
    }),
    kMambaTensors);

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY(refuse_other_scans(config, "hidden_act"));
  for (const std::string_view key : {"attention_bias", "mlp_bias", "mamba_proj_bias", "projectors_bias"}) {
    PLM_TRY_ASSIGN(const bool has_bias, config.boolean_or(key, false));
    if (has_bias) return config.error(key, "false; this version has no biases here");
  }
  PLM_TRY_ASSIGN(const bool has_norm, config.boolean_or("mamba_rms_norm", false));
  PLM_TRY_ASSIGN(const bool is_before_gate, config.boolean_or("mamba_norm_before_gate", true));
  if (has_norm && is_before_gate) return config.error("mamba_norm_before_gate", "false; this version gates first");
  PLM_TRY_ASSIGN(const std::uint64_t inner, inner_size(config));
  draft.keys.add_u32(draft.key("ssm.inner_size"), static_cast<std::uint32_t>(inner));
  PLM_TRY_ASSIGN(const std::uint64_t hidden, config.integer("hidden_size", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer("num_attention_heads", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t head_dim,
                 config.integer_or("head_dim", std::max<std::uint64_t>(1, hidden / heads), {1, 4096}));
  return add_rope_settings(draft, head_dim);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_falcon_h1 = {
    .head = {.name = "falcon-h1",
             .summary = "Falcon-H1: attention and Mamba-2 side by side in every layer",
             .source = "arXiv 2507.22448"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
