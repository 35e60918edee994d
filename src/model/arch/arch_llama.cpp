// The Llama family: Llama 1 to 3, SmolLM2, Yi, Mistral with its sliding window, and everything that says "llama" and is
// dense. Source: Touvron et al., arXiv 2302.13971; Jiang et al., arXiv 2310.06825; shapes and names as in GGUF.
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_model.h"
#include "model/layers/rope_settings.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.rope_layout = RopeLayout::interleaved;
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  for (LayerKind& layer : config.layers) layer.window = window;
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {{"LlamaForCausalLM", "llama"}, {"MistralForCausalLM", "mistral"}};
constexpr SettingRule kSettings[] = {
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
constexpr std::string_view kQueryHeads = "num_attention_heads", kKeyHeads = "num_key_value_heads";
constexpr TensorRule kTensors[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", kQueryHeads},
    {"model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias", kQueryHeads},
    {"model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", kKeyHeads},
    {"model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias", kKeyHeads},
    {"model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
    {"model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias"},
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    {"model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias"},
    {"model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY_ASSIGN(const std::string activation, config.text_or("hidden_act", "silu"));
  if (activation != "silu") return config.error("hidden_act", "\"silu\"; this version has no other here");
  PLM_TRY_ASSIGN(const std::uint64_t context, config.integer("max_position_embeddings", {1, 1U << 30}));
  PLM_TRY_ASSIGN(const std::uint64_t window, config.integer_or("sliding_window", context, {1, 1U << 30}));
  if (window < context) {
    draft.keys.add_u32(draft.key("attention.sliding_window"), static_cast<std::uint32_t>(window));
  }
  PLM_TRY_ASSIGN(const std::uint64_t hidden, config.integer("hidden_size", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer("num_attention_heads", {1, kMostSize}));
  if (!config.has("head_dim") && hidden % heads != 0) {
    return config.error("num_attention_heads", fmt::format("a divisor of hidden_size = {}", hidden));
  }
  PLM_TRY_ASSIGN(const std::uint64_t head_dim,
                 config.integer_or("head_dim", std::max<std::uint64_t>(1, hidden / heads), {1, 4096}));
  draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(head_dim));
  return add_rope_settings(draft, head_dim);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_llama = {
    .head = {.name = "llama",
             .summary = "dense Llama family: rotary positions, grouped queries, SwiGLU, RMS norms; Mistral's window",
             .source = "arXiv 2302.13971"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
