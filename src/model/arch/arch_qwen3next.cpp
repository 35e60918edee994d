// Qwen3-Next: three layers of gated DeltaNet (arXiv 2412.06464), then one of gated attention (arXiv 2505.06708),
// rotated in part; in every layer k of many experts and one that all rows share, behind a gate of its own. The file's
// norm gains are 1 + w. Tested by tests/model/test_hybrids.cpp against an independent float32 oracle.
#include <initializer_list>
#include <span>

#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/layers/hybrid_model.h"
#include "model/layers/rope_settings.h"

namespace plm {
namespace {

constexpr std::size_t kAttentionInterval = 4;

// Which layers are recurrent: one truth value a layer, or all but every n-th.
Result<void> read_mixers(const ModelFile& file, HybridConfig& config) {
  const std::size_t layers = config.shape.layer_count;
  PLM_TRY_ASSIGN(const std::size_t interval,
                 file.integer_or("full_attention_interval", kAttentionInterval, {1, kMostLayers}));
  std::vector<bool> is_recurrent(layers);
  for (std::size_t i = 0; i < layers; ++i) is_recurrent[i] = (i + 1) % interval != 0;
  if (file.has_key("attention.recurrent_layers")) {
    PLM_TRY_ASSIGN(is_recurrent, file.booleans("attention.recurrent_layers", layers));
  }
  for (const bool recurrent : is_recurrent) {
    config.mixers.push_back(recurrent ? Mixer::delta_net : Mixer::gated_attention);
  }
  return {};
}

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(HybridConfig config, read_hybrid_config(file));
  PLM_TRY(read_mixers(file, config));
  PLM_TRY_ASSIGN(const std::size_t kv_heads, file.integer("attention.head_count_kv", {1, kMostSize}));
  PLM_TRY(read_hybrid_attention(file, kv_heads, config));
  PLM_TRY_ASSIGN(config.rope, Rope::from_file(file, config.attention.head_dim, config.shape.trained_context));
  PLM_TRY_ASSIGN(config.recurrent, RecurrentSize::from_file(file, config.shape.hidden_size));
  config.ffn_norm = "post_attention_norm";
  PLM_TRY_ASSIGN(config.experts, read_experts(file, {.has_shared_gate = true, .rule = {.is_normalised = true}}));
  return HybridModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
struct DeltaSizes {
  std::uint64_t key_heads, heads, key_size, value_size;

  static Result<DeltaSizes> from(const ConfigReader& config) {
    DeltaSizes sizes{};
    PLM_TRY_ASSIGN(sizes.key_heads, config.integer("linear_num_key_heads", {1, 4096}));
    PLM_TRY_ASSIGN(sizes.heads, config.integer("linear_num_value_heads", {1, 4096}));
    PLM_TRY_ASSIGN(sizes.key_size, config.integer("linear_key_head_dim", {1, 4096}));
    PLM_TRY_ASSIGN(sizes.value_size, config.integer("linear_value_head_dim", {1, 4096}));
    if (sizes.heads % sizes.key_heads == 0) return sizes;
    return config.error("linear_num_value_heads", fmt::format("a multiple of {}", sizes.key_heads));
  }
  [[nodiscard]] std::uint64_t values_of_key_head() const { return heads / key_heads * value_size; }
};

// The rows are those of each key head: its query, its key, the values and then the gates of its value heads. `parts`
// are those to be taken, each of all heads.
Result<RowMap> projection_rows(const ConfigReader& config, std::size_t count, std::initializer_list<int> parts) {
  PLM_TRY_ASSIGN(const DeltaSizes sizes, DeltaSizes::from(config));
  const std::uint64_t widths[] = {sizes.key_size, sizes.key_size, sizes.values_of_key_head(),
                                  sizes.values_of_key_head()};
  const std::uint64_t all = 2 * (widths[0] + widths[2]);
  if (sizes.key_heads * all != count) {
    return config.error("linear_num_key_heads", fmt::format("that of in_proj_qkvz, which has {} rows", count));
  }
  RowMap map;
  for (const int part : parts) {
    std::uint64_t first = 0;
    for (int before = 0; before < part; ++before) first += widths[before];
    for (std::uint64_t head = 0; head < sizes.key_heads; ++head) {
      for (std::uint64_t row = 0; row < widths[part]; ++row) {
        map.source.push_back(static_cast<std::uint32_t>(head * all + first + row));
      }
    }
  }
  return map;
}
Result<RowMap> mixed_rows(const ConfigReader& config, std::size_t count) {
  return projection_rows(config, count, {0, 1, 2});
}
Result<RowMap> gate_rows(const ConfigReader& config, std::size_t count) { return projection_rows(config, count, {3}); }

// A matrix of one row is a vector in GGUF.
Result<TensorCut> only_row(const ConfigReader&, std::span<const std::uint64_t> shape) {
  return TensorCut{.dims = {shape.back()}};
}

constexpr CheckpointClass kClasses[] = {{"Qwen3NextForCausalLM", "qwen3_next"}};
constexpr auto kSettings =
    joined(joined(kDecoderSettings, kHeadSettings),
           std::to_array<SettingRule>({
               {.from = "linear_conv_kernel_dim", .to = "ssm.conv_kernel", .min = 2, .max = 64},
               {.from = "linear_key_head_dim", .to = "ssm.state_size", .max = 4096},
               {.from = "linear_num_key_heads", .to = "ssm.group_count", .max = 4096},
               {.from = "linear_num_value_heads", .to = "ssm.time_step_rank", .max = 4096},
               {.from = "num_experts", .to = "expert_count"},
               {.from = "num_experts_per_tok", .to = "expert_used_count"},
               {.from = "moe_intermediate_size", .to = "expert_feed_forward_length"},
               {.from = "shared_expert_intermediate_size", .to = "expert_shared_feed_forward_length"},
           }));
constexpr std::string_view kProjection = "model.layers.{}.linear_attn.in_proj_qkvz.weight";
constexpr auto kMixerTensors = std::to_array<TensorRule>({
    {"model.embed_tokens.weight", "token_embd.weight"},
    {.from = "model.layers.{}.input_layernorm.weight",
     .to = "blk.{}.attn_norm.weight",
     .numbers = NumberChange::plus_one},
    {"model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
    {.from = "model.layers.{}.self_attn.q_norm.weight",
     .to = "blk.{}.attn_q_norm.weight",
     .numbers = NumberChange::plus_one},
    {.from = "model.layers.{}.self_attn.k_norm.weight",
     .to = "blk.{}.attn_k_norm.weight",
     .numbers = NumberChange::plus_one},
    {.from = kProjection, .to = "blk.{}.attn_qkv.weight", .rows = mixed_rows},
    {.from = kProjection, .to = "blk.{}.attn_gate.weight", .rows = gate_rows},
    {"model.layers.{}.linear_attn.in_proj_ba.weight", "blk.{}.ssm_ba.weight"},
    {.from = "model.layers.{}.linear_attn.conv1d.weight",
     .to = "blk.{}.ssm_conv1d.weight",
     .numbers = NumberChange::to_float},
    {"model.layers.{}.linear_attn.dt_bias", "blk.{}.ssm_dt.bias"},
    {.from = "model.layers.{}.linear_attn.A_log", .to = "blk.{}.ssm_a", .numbers = NumberChange::minus_exp},
    {"model.layers.{}.linear_attn.norm.weight", "blk.{}.ssm_norm.weight"},
    {"model.layers.{}.linear_attn.out_proj.weight", "blk.{}.ssm_out.weight"},
});
constexpr auto kFfnTensors = std::to_array<TensorRule>({
    {.from = "model.layers.{}.post_attention_layernorm.weight",
     .to = "blk.{}.post_attention_norm.weight",
     .numbers = NumberChange::plus_one},
    {.from = "model.layers.{}.mlp.shared_expert_gate.weight",
     .to = "blk.{}.ffn_gate_inp_shexp.weight",
     .is_float32 = true,
     .cut = only_row},
    {"model.layers.{}.mlp.shared_expert.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.mlp.shared_expert.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.mlp.shared_expert.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
    {.from = "model.norm.weight", .to = "output_norm.weight", .numbers = NumberChange::plus_one},
    {"lm_head.weight", "output.weight"},
});
constexpr auto kTensors = joined(joined(kMixerTensors, kHeadTensors), joined(kExpertTensors, kFfnTensors));

// Which layers are recurrent: one kind a layer, or all but every n-th.
Result<void> add_layer_kinds(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY_ASSIGN(const std::uint64_t layers, config.integer("num_hidden_layers", {1, kMostLayers}));
  PLM_TRY_ASSIGN(const std::uint64_t interval,
                 config.integer_or("full_attention_interval", kAttentionInterval, {1, kMostLayers}));
  PLM_TRY_ASSIGN(const std::vector<std::string> kinds, config.texts_or_none("layer_types"));
  if (!kinds.empty() && kinds.size() != layers) {
    return config.error("layer_types", fmt::format("a list of {} kinds of layer", layers));
  }
  std::vector<bool> is_recurrent;
  for (std::uint64_t i = 0; i < layers; ++i) {
    is_recurrent.push_back(kinds.empty() ? (i + 1) % interval != 0 : kinds[i] == "linear_attention");
    if (!kinds.empty() && !is_recurrent.back() && kinds[i] != "full_attention") {
      return config.error("layer_types", "a list of linear_attention and full_attention");
    }
  }
  draft.keys.add_u32(draft.key("full_attention_interval"), static_cast<std::uint32_t>(interval));
  draft.keys.add_booleans(draft.key("attention.recurrent_layers"), is_recurrent);
  return {};
}

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY(demand_text(config, "hidden_act", "silu"));
  PLM_TRY(complete_experts(draft));
  PLM_TRY(add_layer_kinds(draft));
  PLM_TRY_ASSIGN(const DeltaSizes sizes, DeltaSizes::from(config));
  draft.keys.add_u32(draft.key("ssm.inner_size"), static_cast<std::uint32_t>(sizes.heads * sizes.value_size));
  PLM_TRY_ASSIGN(const std::uint64_t head_dim, config.integer("head_dim", {2, 4096}));
  PLM_TRY_ASSIGN(const double share, config.positive_real_or("partial_rotary_factor", 0.25, 1));
  const auto rotated = static_cast<std::uint64_t>(static_cast<double>(head_dim) * share);
  draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(rotated));
  return add_rope_settings(draft, rotated, {.share = share});
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_qwen3next = {
    .head = {.name = "qwen3next",
             .summary = "Qwen3-Next: gated DeltaNet and gated attention, 3 to 1, with a mixture of experts",
             .source = "arXiv 2412.06464"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
