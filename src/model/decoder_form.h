// What checkpoints of decoder-only networks have in common in Hugging Face's layout, for the tables in
// model/arch/arch_<name>.cpp (model/huggingface_form.h). Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <array>

#include "model/huggingface_form.h"

namespace plm {

inline constexpr auto kDecoderSettings = std::to_array<SettingRule>({
    {.from = "num_hidden_layers", .to = "block_count", .max = 1024},
    {.from = "max_position_embeddings", .to = "context_length", .max = 1U << 30},
    {.from = "hidden_size", .to = "embedding_length"},
    {.from = "intermediate_size", .to = "feed_forward_length"},
    {.from = "num_attention_heads", .to = "attention.head_count"},
    {.from = "rms_norm_eps", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
});

/// Of attention whose heads have keys and values of their own.
inline constexpr auto kHeadSettings = std::to_array<SettingRule>({
    {.from = "num_key_value_heads", .to = "attention.head_count_kv", .required = false},
    {.from = "head_dim", .to = "attention.key_length", .required = false, .max = 4096},
    {.from = "head_dim", .to = "attention.value_length", .required = false, .max = 4096},
});

inline constexpr auto kDecoderTensors = std::to_array<TensorRule>({
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
});

inline constexpr auto kHeadTensors = std::to_array<TensorRule>({
    {"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight"},
    {"model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias"},
    {"model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight"},
    {"model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias"},
    {"model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
});

inline constexpr auto kHeadNormTensors = std::to_array<TensorRule>({
    {"model.layers.{}.self_attn.q_norm.weight", "blk.{}.attn_q_norm.weight"},
    {"model.layers.{}.self_attn.k_norm.weight", "blk.{}.attn_k_norm.weight"},
});

inline constexpr auto kFeedForwardTensors = std::to_array<TensorRule>({
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    {"model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias"},
    {"model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
});

/// Experts as Qwen, OLMoE and DeepSeek name them: a tensor for each.
inline constexpr auto kExpertTensors = std::to_array<TensorRule>({
    {.from = "model.layers.{}.mlp.gate.weight", .to = "blk.{}.ffn_gate_inp.weight", .is_float32 = true},
    {"model.layers.{}.mlp.experts.{}.gate_proj.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.mlp.experts.{}.up_proj.weight", "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.{}.down_proj.weight", "blk.{}.ffn_down_exps.weight"},
});

/// head_dim, or hidden_size / num_attention_heads. Errors name the setting.
[[nodiscard]] Result<std::uint64_t> read_head_dim(const ConfigReader& config);

/// Error when a text setting is there and says something else than `only`.
[[nodiscard]] Result<void> demand_text(const ConfigReader& config, std::string_view setting, std::string_view only);

/// sliding_window, where it is shorter than the context; without `is_used` it is only checked.
[[nodiscard]] Result<void> add_window(CheckpointDraft& draft, bool is_used = true);

/// For attention with keys and values of its own: activation, window, rotation. Errors (bad_input) name the setting.
[[nodiscard]] Result<void> complete_decoder(CheckpointDraft& draft);

/// Refuses mixtures that have dense layers in between (decoder_sparse_step, mlp_only_layers), and says whether the
/// weights of a row's experts add up to 1 (norm_topk_prob).
[[nodiscard]] Result<void> complete_experts(CheckpointDraft& draft);

}  // namespace plm
