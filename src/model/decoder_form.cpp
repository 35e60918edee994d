#include "model/decoder_form.h"

#include <algorithm>

#include "model/layers/rope_settings.h"

namespace plm {
namespace {

constexpr ConfigReader::IntegerRange kContexts{1, 1U << 30}, kSizes{1, 1U << 20};

}  // namespace

Result<std::uint64_t> read_head_dim(const ConfigReader& config) {
  PLM_TRY_ASSIGN(const std::uint64_t hidden, config.integer("hidden_size", kSizes));
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer("num_attention_heads", kSizes));
  if (!config.has("head_dim") && hidden % heads != 0) {
    return config.error("num_attention_heads", fmt::format("a divisor of hidden_size = {}", hidden));
  }
  return config.integer_or("head_dim", std::max<std::uint64_t>(1, hidden / heads), {1, 4096});
}

Result<void> demand_text(const ConfigReader& config, std::string_view setting, std::string_view only) {
  PLM_TRY_ASSIGN(const std::string text, config.text_or(setting, only));
  if (text == only) return {};
  return config.error(setting, fmt::format("\"{}\"; this version has no other here", only));
}

Result<void> add_window(CheckpointDraft& draft, bool is_used) {
  PLM_TRY_ASSIGN(const std::uint64_t context, draft.config.integer("max_position_embeddings", kContexts));
  PLM_TRY_ASSIGN(const std::uint64_t window, draft.config.integer_or("sliding_window", context, kContexts));
  if (is_used && window < context) {
    draft.keys.add_u32(draft.key("attention.sliding_window"), static_cast<std::uint32_t>(window));
  }
  return {};
}

Result<void> complete_decoder(CheckpointDraft& draft) {
  PLM_TRY(demand_text(draft.config, "hidden_act", "silu"));
  PLM_TRY_ASSIGN(const bool has_window, draft.config.boolean_or("use_sliding_window", true));
  PLM_TRY(add_window(draft, has_window));
  PLM_TRY_ASSIGN(const std::uint64_t head_dim, read_head_dim(draft.config));
  draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(head_dim));
  return add_rope_settings(draft, head_dim);
}

Result<void> complete_experts(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY(config.integer_or("decoder_sparse_step", 1, {1, 1}));
  PLM_TRY_ASSIGN(const auto dense, config.integers_or_none("mlp_only_layers", {0, 1U << 16}));
  if (!dense.empty()) return config.error("mlp_only_layers", "empty; this version has no dense layers in between");
  PLM_TRY_ASSIGN(const bool is_normalised, config.boolean_or("norm_topk_prob", false));
  draft.keys.add_boolean(draft.key("expert_weights_norm"), is_normalised);
  return {};
}

}  // namespace plm
