#include "model/layers/dense_form.h"

#include <algorithm>

#include "model/sequence_head.h"

namespace plm {
namespace {

constexpr std::string_view kSliding = "sliding_attention", kFull = "full_attention";

}  // namespace

Result<void> complete_dense_draft(CheckpointDraft& draft, RopeDefaults rope) {
  PLM_TRY_ASSIGN(const std::uint64_t head_dim, read_head_dim(draft.config));
  if (draft.kind.scores) draft.keys.add_string(draft.key(kScoreCurveKey), "relu");
  return add_rope_settings(draft, head_dim, rope);
}

Result<void> add_window_pattern(CheckpointDraft& draft, std::uint64_t every) {
  const ConfigReader& config = draft.config;
  PLM_TRY_ASSIGN(const std::uint64_t layers, config.integer("num_hidden_layers", {1, kMostLayers}));
  PLM_TRY_ASSIGN(const std::uint64_t window, config.integer("sliding_window", {1, kMostContext}));
  PLM_TRY_ASSIGN(every, config.integer_or("sliding_window_pattern", every, {1, kMostLayers}));
  PLM_TRY_ASSIGN(const auto kinds, config.texts_or_none("layer_types"));
  const bool is_known = std::ranges::all_of(kinds, [](const auto& kind) { return kind == kSliding || kind == kFull; });
  if (!is_known || (!kinds.empty() && kinds.size() != layers)) {
    return config.error("layer_types", fmt::format("{} of {} and {}", layers, kSliding, kFull));
  }
  std::vector<bool> has_window(layers);
  for (std::size_t i = 0; i < layers; ++i) {
    has_window[i] = kinds.empty() ? (i + 1) % every != 0 : kinds[i] == kSliding;
  }
  draft.keys.add_u32(draft.key("attention.sliding_window"), static_cast<std::uint32_t>(window));
  draft.keys.add_booleans(draft.key("attention.sliding_window_pattern"), has_window);
  return {};
}

Result<void> refuse_windows(const ConfigReader& config) {
  PLM_TRY_ASSIGN(const auto kinds, config.texts_or_none("layer_types"));
  const bool has_kinds = std::ranges::find(kinds, kSliding) != kinds.end();
  if (has_kinds) return config.error("layer_types", "full_attention throughout; this version has no windows here");
  PLM_TRY_ASSIGN(const bool is_used, config.boolean_or("use_sliding_window", false));
  if (!is_used || !kinds.empty()) return {};
  PLM_TRY_ASSIGN(const std::uint64_t layers, config.integer("num_hidden_layers", {1, kMostLayers}));
  PLM_TRY_ASSIGN(const std::uint64_t first, config.integer_or("max_window_layers", 0, {0, 1U << 20}));
  if (first >= layers) return {};
  return config.error("use_sliding_window", "false; this version has no windows here");
}

}  // namespace plm
