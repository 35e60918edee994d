// What the checkpoints of Gemma 2 and Gemma 3 in Hugging Face's layout share: gains of norms stored less one, scores
// scaled by a number of the settings, soft caps. Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <cmath>

#include "model/layers/dense_form.h"

namespace plm {

inline constexpr TensorRule kGemmaTensors[] = {
    {.from = "layers.{}.input_layernorm.weight", .to = "blk.{}.attn_norm.weight", .numbers = NumberChange::plus_one},
    {.from = "layers.{}.self_attn.q_norm.weight", .to = "blk.{}.attn_q_norm.weight", .numbers = NumberChange::plus_one},
    {.from = "layers.{}.self_attn.k_norm.weight", .to = "blk.{}.attn_k_norm.weight", .numbers = NumberChange::plus_one},
    {.from = "layers.{}.post_attention_layernorm.weight",
     .to = "blk.{}.post_attention_norm.weight",
     .numbers = NumberChange::plus_one},
    {.from = "layers.{}.pre_feedforward_layernorm.weight",
     .to = "blk.{}.ffn_norm.weight",
     .numbers = NumberChange::plus_one},
    {.from = "layers.{}.post_feedforward_layernorm.weight",
     .to = "blk.{}.post_ffw_norm.weight",
     .numbers = NumberChange::plus_one},
    {.from = "norm.weight", .to = "output_norm.weight", .numbers = NumberChange::plus_one},
};

/// Activation, scale of scores, soft caps, windows (every layer but each `every`-th) and positions with a base of
/// `base` where nothing is said.
[[nodiscard]] inline Result<void> complete_gemma_draft(CheckpointDraft& draft, std::uint64_t every, double base) {
  const ConfigReader& config = draft.config;
  // What transformers takes for granted here is not what GGUF does, so it must be said.
  if (!config.has("head_dim")) return config.error("head_dim", "a number");
  const bool has_old_name = !config.has("hidden_activation") && config.has("hidden_act");
  PLM_TRY(demand_text(config, has_old_name ? "hidden_act" : "hidden_activation", "gelu_pytorch_tanh"));
  PLM_TRY_ASSIGN(const bool sees_all, config.boolean_or("use_bidirectional_attention", false));
  if (sees_all) return config.error("use_bidirectional_attention", "false; this version reads it from left to right");
  PLM_TRY_ASSIGN(const double scalar, config.positive_real_or("query_pre_attn_scalar", 256, 1e9));
  draft.keys.add_f32(draft.key("attention.scale"), static_cast<float>(1.0 / std::sqrt(scalar)));
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (!config.has(cap)) continue;
    PLM_TRY_ASSIGN(const double value, config.positive_real(cap, 1e6));
    draft.keys.add_f32(draft.key(cap), static_cast<float>(value));
  }
  PLM_TRY(add_window_pattern(draft, every));
  return complete_dense_draft(draft, {.base = base});
}

}  // namespace plm
