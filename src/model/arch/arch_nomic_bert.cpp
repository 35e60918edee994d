// nomic-embed-text (Nussbaum et al., arXiv 2402.01613): BERT with rotary positions in place of learned ones, a gated
// feed-forward network (SiLU) and no biases in its matrices.
// Tested by tests/model/test_encoders.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/encoder_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(EncoderConfig config, read_encoder_config(file));
  config.is_gated = true;
  config.is_fused = file.has_tensor("blk.0.attn_qkv.weight");
  config.gate = Activation::silu;
  PLM_TRY_ASSIGN(Rope rope, Rope::from_file(file, config.attention.head_dim, config.shape.trained_context));
  config.ropes.push_back(std::move(rope));
  for (EncoderConfig::Layer& layer : config.layers) layer.rope = 0;
  return EncoderModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout: with the settings and names of their makers, or of transformers 5.
constexpr CheckpointClass kClasses[] = {{"NomicBertModel", "nomic_bert"}, {"NomicBertForMaskedLM", "nomic_bert"}};
constexpr SettingRule kSettings[] = {
    {.from = "num_hidden_layers", .to = "block_count", .required = false, .max = kMostLayers},
    {.from = "n_layer", .to = "block_count", .required = false, .max = kMostLayers},
    {.from = "max_position_embeddings", .to = "context_length", .required = false, .max = 1U << 30},
    {.from = "n_positions", .to = "context_length", .required = false, .max = 1U << 30},
    {.from = "hidden_size", .to = "embedding_length", .required = false},
    {.from = "n_embd", .to = "embedding_length", .required = false},
    {.from = "intermediate_size", .to = "feed_forward_length", .required = false},
    {.from = "n_inner", .to = "feed_forward_length", .required = false},
    {.from = "num_attention_heads", .to = "attention.head_count", .required = false},
    {.from = "n_head", .to = "attention.head_count", .required = false},
    {.from = "layer_norm_eps",
     .to = "attention.layer_norm_epsilon",
     .kind = SettingKind::real,
     .required = false,
     .max = 1},
    {.from = "layer_norm_epsilon",
     .to = "attention.layer_norm_epsilon",
     .kind = SettingKind::real,
     .required = false,
     .max = 1},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
};
constexpr TensorRule kTensors[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"emb_ln.weight", "token_embd_norm.weight"},
    {"emb_ln.bias", "token_embd_norm.bias"},
    {"embeddings.LayerNorm.weight", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.bias", "token_embd_norm.bias"},
    {"encoder.layers.{}.attn.Wqkv.weight", "blk.{}.attn_qkv.weight"},
    {"encoder.layers.{}.attn.out_proj.weight", "blk.{}.attn_output.weight"},
    {"encoder.layers.{}.norm1.weight", "blk.{}.attn_output_norm.weight"},
    {"encoder.layers.{}.norm1.bias", "blk.{}.attn_output_norm.bias"},
    {"encoder.layers.{}.mlp.fc11.weight", "blk.{}.ffn_up.weight"},
    {"encoder.layers.{}.mlp.fc12.weight", "blk.{}.ffn_gate.weight"},
    {"encoder.layers.{}.mlp.fc2.weight", "blk.{}.ffn_down.weight"},
    {"encoder.layers.{}.norm2.weight", "blk.{}.layer_output_norm.weight"},
    {"encoder.layers.{}.norm2.bias", "blk.{}.layer_output_norm.bias"},
    {"layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight"},
    {"layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight"},
    {"layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
    {"layers.{}.post_attention_layernorm.weight", "blk.{}.attn_output_norm.weight"},
    {"layers.{}.post_attention_layernorm.bias", "blk.{}.attn_output_norm.bias"},
    {"layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"layers.{}.post_mlp_layernorm.weight", "blk.{}.layer_output_norm.weight"},
    {"layers.{}.post_mlp_layernorm.bias", "blk.{}.layer_output_norm.bias"},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  for (const auto& [setting, only] : {std::pair{"hidden_act", "silu"}, std::pair{"activation_function", "swiglu"}}) {
    PLM_TRY_ASSIGN(const std::string curve, config.text_or(setting, only));
    if (curve != only) return config.error(setting, fmt::format("\"{}\"; this version has no other here", only));
  }
  for (const char* flag : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "prenorm", "rotary_emb_interleaved"}) {
    PLM_TRY_ASSIGN(const bool is_set, config.boolean_or(flag, false));
    if (is_set) return config.error(flag, "false; this version has it not here");
  }
  PLM_TRY_ASSIGN(const double share, config.positive_real_or("rotary_emb_fraction", 1, 1e6));
  if (share != 1) return config.error("rotary_emb_fraction", "1; this version rotates whole heads here");
  if (config.has("rotary_scaling_factor")) {
    return config.error("rotary_scaling_factor", "absent; this version does not stretch positions here");
  }
  PLM_TRY_ASSIGN(double base, config.positive_real_or("rotary_emb_base", 1000, 1e15));
  PLM_TRY_ASSIGN(const auto rope, config.section("rope_parameters"));
  if (rope) {
    PLM_TRY_ASSIGN(const std::string type, rope->text_or("rope_type", "default"));
    if (type != "default") return rope->error("rope_type", "\"default\"; this version does not scale positions here");
    PLM_TRY_ASSIGN(base, rope->positive_real_or("rope_theta", base, 1e15));
  }
  draft.keys.add_f32(draft.key("rope.freq_base"), static_cast<float>(base));
  draft.keys.add_boolean(draft.key("attention.causal"), false);
  return {};
}

constexpr HuggingFaceForm kForm = {
    .classes = kClasses, .settings = kSettings, .tensors = kTensors, .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_nomic_bert = {
    .head = {.name = "nomic-bert",
             .summary = "nomic-embed-text 1 and 1.5: BERT with rotary positions and SwiGLU",
             .source = "arXiv 2402.01613"},
    .load = &load,
    .huggingface = &kForm,
    .is_encoder = true,
};

}  // namespace plm
