// What checkpoints of dense decoders in Hugging Face's layout have in common, so that a family's file says only what is
// its own: settings, tensors of attention and feed-forward network whose heads are rotated by halves, windows, heads
// that give scores. Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "model/huggingface_form.h"
#include "model/layers/dense_config.h"
#include "model/layers/rope_settings.h"

namespace plm {

inline constexpr SettingRule kDenseSettings[] = {
    {.from = "num_hidden_layers", .to = "block_count", .max = kMostLayers},
    {.from = "max_position_embeddings", .to = "context_length", .max = 1U << 30},
    {.from = "hidden_size", .to = "embedding_length"},
    {.from = "intermediate_size", .to = "feed_forward_length"},
    {.from = "num_attention_heads", .to = "attention.head_count"},
    {.from = "num_key_value_heads", .to = "attention.head_count_kv", .required = false},
    {.from = "rms_norm_eps", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "head_dim", .to = "attention.key_length", .required = false, .max = 4096},
    {.from = "head_dim", .to = "attention.value_length", .required = false, .max = 4096},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
};

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

/// head_dim, or hidden_size / num_attention_heads. Errors name the setting.
[[nodiscard]] Result<std::uint64_t> read_head_dim(const ConfigReader& config);

/// Error when a text setting is there and says something else than `only`.
[[nodiscard]] Result<void> demand_text(const ConfigReader& config, std::string_view setting, std::string_view only);

/// Rotary positions, and the activation inside a head of two layers.
[[nodiscard]] Result<void> complete_dense_draft(CheckpointDraft& draft, RopeDefaults rope = {});

/// sliding_window, where it is shorter than the context.
[[nodiscard]] Result<void> add_window(CheckpointDraft& draft);

/// sliding_window and which layers have it: layer_types, else every layer but the n-th, sliding_window_pattern or
/// `every`.
[[nodiscard]] Result<void> add_window_pattern(CheckpointDraft& draft, std::uint64_t every);

/// For families whose layers have no window here. Error: the checkpoint uses one.
[[nodiscard]] Result<void> refuse_windows(const ConfigReader& config);

}  // namespace plm
