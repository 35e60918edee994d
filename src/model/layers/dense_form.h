// What checkpoints of dense decoders in Hugging Face's layout have in common, so that a family's file says only what is
// its own: settings, tensors of attention and feed-forward network whose heads are rotated by halves, windows, heads
// that give scores. Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <cstdint>

#include "model/decoder_form.h"
#include "model/layers/dense_config.h"
#include "model/layers/rope_settings.h"

namespace plm {

inline constexpr auto kDenseSettings = joined(kDecoderSettings, kHeadSettings);

/// "model." is left out where the inner network was saved alone.
inline constexpr std::string_view kDensePrefixes[] = {"model."};

/// All but the norms of layers, which stand in different places under the same names.
inline constexpr TensorRule kDenseTensors[] = {
    {"embed_tokens.weight", "token_embd.weight"},
    {"layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight"},
    {"layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias"},
    {"layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight"},
    {"layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias"},
    {"layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
    {"layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
    {"layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias"},
    {"layers.{}.self_attn.q_norm.weight", "blk.{}.attn_q_norm.weight"},
    {"layers.{}.self_attn.k_norm.weight", "blk.{}.attn_k_norm.weight"},
    {"layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    {"layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias"},
    {"layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
    {"norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
    // Heads that give scores: one layer, or two with a ReLU between.
    {"score.weight", "cls.output.weight"},
    {"score.bias", "cls.output.bias"},
    {"score.0.weight", "cls.weight"},
    {"score.0.bias", "cls.bias"},
    {"score.2.weight", "cls.output.weight"},
    {"score.2.bias", "cls.output.bias"},
};

/// The norms before both branches, as most have them.
inline constexpr TensorRule kNormsBefore[] = {
    {"layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
};

/// A family's form: `tensors` are its own, norms among them.
[[nodiscard]] constexpr HuggingFaceForm dense_form(std::span<const CheckpointClass> classes,
                                                   std::span<const TensorRule> tensors,
                                                   Result<void> (*complete)(CheckpointDraft&),
                                                   bool tied_by_default = false) {
  return {.classes = classes,
          .settings = kDenseSettings,
          .tensors = tensors,
          .shared = kDenseTensors,
          .prefixes = kDensePrefixes,
          .head = "lm_head.weight",
          .tied_by_default = tied_by_default,
          .complete = complete};
}

/// Rotary positions, and the activation inside a head of two layers.
[[nodiscard]] Result<void> complete_dense_draft(CheckpointDraft& draft, RopeDefaults rope = {});

/// sliding_window and which layers have it: layer_types, else every layer but the n-th, sliding_window_pattern or
/// `every`.
[[nodiscard]] Result<void> add_window_pattern(CheckpointDraft& draft, std::uint64_t every);

/// For families whose layers have no window here. Error: the checkpoint uses one.
[[nodiscard]] Result<void> refuse_windows(const ConfigReader& config);

}  // namespace plm
