// ModernBERT (Warner et al., arXiv 2412.13663): norms before the branches and without biases, none before the first
// attention; rotary positions by halves; a gated feed-forward network; two layers of three see only what is near, and
// are rotated with a base of their own. Checkpoints that keep the head they were trained with fill masks.
// Tested by tests/model/test_encoders.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/diffusion_form.h"
#include "model/layers/encoder_model.h"
#include "model/sequence_head.h"

namespace plm {
namespace {

constexpr std::size_t kGlobalRope = 0, kLocalRope = 1;
constexpr std::size_t kGlobalInterval = 3;

// Which layers see everything: the first, and every n-th from there.
Result<void> choose_layers(const ModelFile& file, EncoderConfig& config) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  PLM_TRY_ASSIGN(const std::size_t every, file.integer_or(kKey, kGlobalInterval, {1, kMostLayers}));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const bool is_local = window > 0 && i % every != 0;
    config.layers[i] =
        is_local ? EncoderConfig::Layer{std::max(1U, window / 2), kLocalRope} : EncoderConfig::Layer{0, kGlobalRope};
  }
  return {};
}

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(EncoderConfig config, read_encoder_config(file));
  config.norms_before = true;
  config.first_norm_missing = true;
  config.is_gated = true;
  config.is_fused = true;
  config.gate_is_fused = true;
  PLM_TRY(file.text_or("hidden_activation", "gelu"));
  PLM_TRY(file.positive_real_or("attention.layer_norm_rms_epsilon", 1e-5, 1.0));  // the same number, written twice
  PLM_TRY_ASSIGN(Rope global, Rope::from_file(file, config.attention.head_dim, config.shape.trained_context));
  PLM_TRY_ASSIGN(Rope local, Rope::unscaled_from_file(file, config.attention.head_dim, "rope.freq_base_swa", 10000.0));
  config.ropes.push_back(std::move(global));
  config.ropes.push_back(std::move(local));
  PLM_TRY(choose_layers(file, config));
  return EncoderModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {
    {"ModernBertModel", "modernbert"},
    {"ModernBertForMaskedLM", "modernbert"},
    {"ModernBertForSequenceClassification", "modernbert", true},
};
constexpr SettingRule kSettings[] = {
    {.from = "num_hidden_layers", .to = "block_count", .max = kMostLayers},
    {.from = "max_position_embeddings", .to = "context_length", .max = 1U << 30},
    {.from = "hidden_size", .to = "embedding_length"},
    {.from = "intermediate_size", .to = "feed_forward_length"},
    {.from = "num_attention_heads", .to = "attention.head_count"},
    {.from = "norm_eps", .to = "attention.layer_norm_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "norm_eps", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "local_attention", .to = "attention.sliding_window", .max = 1U << 30},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
};
constexpr std::string_view kPrefixes[] = {"model."};
constexpr TensorRule kTensors[] = {
    {"embeddings.tok_embeddings.weight", "token_embd.weight"},
    {"embeddings.norm.weight", "token_embd_norm.weight"},
    {"layers.{}.attn_norm.weight", "blk.{}.attn_norm.weight"},
    {"layers.{}.attn.Wqkv.weight", "blk.{}.attn_qkv.weight"},
    {"layers.{}.attn.Wo.weight", "blk.{}.attn_output.weight"},
    {"layers.{}.mlp_norm.weight", "blk.{}.ffn_norm.weight"},
    {"layers.{}.mlp.Wi.weight", "blk.{}.ffn_up.weight"},
    {"layers.{}.mlp.Wo.weight", "blk.{}.ffn_down.weight"},
    {"final_norm.weight", "output_norm.weight"},
    {"head.dense.weight", "cls.weight"},
    {"head.norm.weight", "cls.norm.weight"},
    {"classifier.weight", "cls.output.weight"},
    {"classifier.bias", "cls.output.bias"},
    {.from = "head.dense.weight", .to = "output_transform.weight", .applies = fills_masks},
    {.from = "head.norm.weight", .to = "output_transform_norm.weight", .applies = fills_masks},
    {.from = "decoder.weight", .to = "output.weight", .applies = has_own_words},
    {.from = "decoder.bias", .to = "output.bias", .applies = fills_masks},
};

// Base of the rotary positions of a kind of layer: a setting of its own, or a section of transformers 5 and later.
Result<double> read_base(const ConfigReader& config, std::string_view setting, std::string_view kind, double standard) {
  PLM_TRY_ASSIGN(double base, config.positive_real_or(setting, standard, 1e15));
  PLM_TRY_ASSIGN(const auto all, config.section("rope_parameters"));
  if (!all) return base;
  PLM_TRY_ASSIGN(const auto own, all->section(kind));
  if (!own) return base;
  PLM_TRY_ASSIGN(const std::string type, own->text_or("rope_type", "default"));
  if (type != "default") return own->error("rope_type", "\"default\"; this version does not scale positions here");
  return own->positive_real_or("rope_theta", base, 1e15);
}

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  for (const auto& [setting, only] :
       {std::pair{"hidden_activation", "gelu"}, std::pair{"classifier_activation", "gelu"}}) {
    PLM_TRY_ASSIGN(const std::string curve, config.text_or(setting, only));
    if (curve != only) return config.error(setting, "\"gelu\"; this version has no other here");
  }
  for (const char* bias : {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias"}) {
    PLM_TRY_ASSIGN(const bool is_there, config.boolean_or(bias, false));
    if (is_there) return config.error(bias, "false; this version has none here");
  }
  PLM_TRY_ASSIGN(const std::uint64_t every,
                 config.integer_or("global_attn_every_n_layers", kGlobalInterval, {1, kMostLayers}));
  PLM_TRY_ASSIGN(const double global, read_base(config, "global_rope_theta", "full_attention", 160000));
  PLM_TRY_ASSIGN(const double local, read_base(config, "local_rope_theta", "sliding_attention", 10000));
  PLM_TRY_ASSIGN(const std::string pooling, config.text_or("classifier_pooling", "cls"));
  if (pooling != "cls" && pooling != "mean") return config.error("classifier_pooling", "cls or mean");
  draft.keys.add_f32(draft.key("rope.freq_base"), static_cast<float>(global));
  draft.keys.add_f32(draft.key("rope.freq_base_swa"), static_cast<float>(local));
  draft.keys.add_string(draft.key("rope.scaling.type"), "none");
  draft.keys.add_string(draft.key("hidden_activation"), "gelu");
  draft.keys.add_boolean(draft.key("attention.causal"), false);
  draft.keys.add_u32(draft.key("attention.sliding_window_pattern"), static_cast<std::uint32_t>(every));
  draft.keys.add_u32(draft.key(kScorePoolingKey),
                     static_cast<std::uint32_t>(pooling == "mean" ? Pooling::mean : Pooling::cls));
  return {};
}

constexpr HuggingFaceForm kForm = {
    .classes = kClasses, .settings = kSettings, .tensors = kTensors, .prefixes = kPrefixes, .complete = complete_draft};

constexpr DiffusionTraits kTraits{};

}  // namespace

extern constinit const Architecture arch_modern_bert = {
    .head = {.name = "modern-bert",
             .summary = "ModernBERT: encoder with rotary positions, two layers of three with a window",
             .source = "arXiv 2412.13663"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
    .is_encoder = true,
    .score_curve = "gelu",
};

}  // namespace plm
