#include "model/layers/dense_config.h"

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"

namespace plm {

Result<void> read_heads(const ModelFile& file, std::size_t kv_heads, AttentionSize& attention, ScoreRule& scores) {
  attention.kv_heads = kv_heads;
  PLM_TRY_ASSIGN(attention.q_heads, file.integer("attention.head_count", {1, kMostSize}));
  if (kv_heads == 0 || attention.q_heads % kv_heads != 0) {
    return file.key_error("attention.head_count_kv", fmt::format("{}", kv_heads),
                          fmt::format("a divisor of attention.head_count = {}", attention.q_heads));
  }
  if (!file.has_key("attention.key_length") && attention.hidden_size % attention.q_heads != 0) {
    return file.key_error("attention.head_count", fmt::format("{}", attention.q_heads),
                          fmt::format("a divisor of embedding_length = {}", attention.hidden_size));
  }
  const std::size_t share = std::max<std::size_t>(1, attention.hidden_size / attention.q_heads);
  PLM_TRY_ASSIGN(attention.head_dim, file.integer_or("attention.key_length", share, {2, 4096}));
  if (attention.head_dim % 2 != 0) {
    return file.key_error("attention.key_length", fmt::format("{}", attention.head_dim),
                          "even, since pairs of numbers are rotated");
  }
  PLM_TRY(file.integer_or("attention.value_length", attention.head_dim, {attention.head_dim, attention.head_dim}));
  const double standard = 1.0 / std::sqrt(static_cast<double>(attention.head_dim));
  PLM_TRY_ASSIGN(const double scale, file.positive_real_or("attention.scale", standard, 1e6));
  scores = static_cast<float>(scale);
  return {};
}

Result<void> read_attention(const ModelFile& file, DenseConfig& config) {
  config.attention.hidden_size = config.shape.hidden_size;
  PLM_TRY_ASSIGN(const std::size_t q_heads, file.integer("attention.head_count", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::size_t kv_heads, file.integer_or("attention.head_count_kv", q_heads, {1, q_heads}));
  return read_heads(file, kv_heads, config.attention, config.scores);
}

namespace {

// The embedding says how many tokens there are; vocab_size, when stated, must agree.
Result<std::size_t> read_vocab_size(const ModelFile& file) {
  const TensorEntry* table = file.gguf().find_tensor("token_embd.weight");
  if (table == nullptr) return 0;  // its loading fails
  PLM_TRY_ASSIGN(const std::size_t stated, file.integer_or("vocab_size", table->dims[1], {1, kMostSize}));
  if (stated != table->dims[1]) {
    return file.key_error("vocab_size", fmt::format("{}", stated),
                          fmt::format("{}, the rows of tensor token_embd.weight", table->dims[1]));
  }
  return stated;
}

Result<void> check_reading(const ModelFile& file, Reading reading) {
  constexpr std::string_view kKey = "attention.causal";
  PLM_TRY_ASSIGN(const bool is_causal, file.boolean_or(kKey, reading == Reading::causal));
  if (is_causal == (reading == Reading::causal)) return {};
  return is_causal ? file.key_error(kKey, "true", "false; this network fills masks and sees the whole page")
                   : file.key_error(kKey, "false", "true; this network writes one token after another");
}

}  // namespace

Result<ModelShape> read_model_shape(const ModelFile& file) {
  ModelShape shape;
  shape.architecture = file.architecture();
  PLM_TRY_ASSIGN(shape.layer_count, file.integer("block_count", {1, kMostLayers}));
  if (shape.layer_count != file.layers_in_file()) {
    return file.key_error("block_count", fmt::format("{}", shape.layer_count),
                          fmt::format("{}, as many layers as the file has tensors for", file.layers_in_file()));
  }
  PLM_TRY_ASSIGN(shape.hidden_size, file.integer("embedding_length", {1, kMostSize}));
  PLM_TRY_ASSIGN(shape.trained_context, file.integer("context_length", {1, kMostContext}));
  PLM_TRY_ASSIGN(shape.vocab_size, read_vocab_size(file));
  shape.parameter_count = file.parameter_count();
  return shape;
}

Result<void> read_shape(const ModelFile& file, DenseConfig& config) {
  PLM_TRY_ASSIGN(config.shape, read_model_shape(file));
  PLM_TRY_ASSIGN(config.ffn_size, file.integer("feed_forward_length", {1, kMostSize}));
  return {};
}

namespace {

// What does not depend on the kind of attention.
Result<DenseConfig> read_common(const ModelFile& file, Reading reading) {
  DenseConfig config;
  PLM_TRY(read_shape(file, config));
  PLM_TRY_ASSIGN(const double epsilon, file.positive_real("attention.layer_norm_rms_epsilon", 1.0));
  config.norm_epsilon = static_cast<float>(epsilon);
  PLM_TRY(check_reading(file, reading));
  config.layers.resize(config.shape.layer_count);
  return config;
}

// The sizes of the parts of a head. Files from before attn_k_b and attn_v_b give those of the heads that they make,
// later ones have keys of their own for them, as what is stored is a latent.
Result<LatentSize> read_latent_size(const ModelFile& file, std::size_t hidden_size) {
  LatentSize size{.hidden_size = hidden_size};
  PLM_TRY_ASSIGN(size.q_heads, file.integer("attention.head_count", {1, kMostSize}));
  const bool is_new = file.has_key("attention.key_length_mla");
  const std::size_t stored_heads = is_new ? 1 : size.q_heads;
  PLM_TRY(file.integer_or("attention.head_count_kv", stored_heads, {stored_heads, stored_heads}));
  PLM_TRY_ASSIGN(size.q_rank, file.integer_or("attention.q_lora_rank", 0, {0, kMostSize}));
  PLM_TRY_ASSIGN(size.kv_rank, file.integer("attention.kv_lora_rank", {1, 4096}));
  PLM_TRY_ASSIGN(const std::size_t head_dim,
                 file.integer(is_new ? "attention.key_length_mla" : "attention.key_length", {3, 4096}));
  PLM_TRY_ASSIGN(size.value_dim,
                 file.integer(is_new ? "attention.value_length_mla" : "attention.value_length", {1, 4096}));
  PLM_TRY_ASSIGN(size.rope_dim, file.integer("rope.dimension_count", {2, head_dim - 1}));
  size.plain_dim = head_dim - size.rope_dim;
  if (is_new) {
    PLM_TRY(file.integer_or("attention.key_length", size.key_dim(), {size.key_dim(), size.key_dim()}));
    PLM_TRY(file.integer_or("attention.value_length", size.kv_rank, {size.kv_rank, size.kv_rank}));
  }
  return size;
}

// YaRN as DeepSeek has it: instead of the rotated numbers all scores are stretched, by the square of this. 0: they are
// not.
Result<double> read_latent_stretch(const ModelFile& file) {
  PLM_TRY_ASSIGN(const std::string kind, file.text_or("rope.scaling.type", "none"));
  PLM_TRY_ASSIGN(const double multiplier, file.share_or("rope.scaling.yarn_log_multiplier", 0));
  if (kind != "yarn" || multiplier == 0) return 0;
  PLM_TRY_ASSIGN(const double factor, file.positive_real("rope.scaling.factor", 1e6));
  return factor > 1 ? 1 + multiplier * log_f64(factor) : 1;
}

}  // namespace

Result<DenseConfig> read_dense_config(ModelFile& file, Reading reading) {
  PLM_TRY_ASSIGN(DenseConfig config, read_common(file, reading));
  PLM_TRY(read_attention(file, config));
  PLM_TRY_ASSIGN(Rope rope, Rope::from_file(file, config.attention.head_dim, config.shape.trained_context));
  config.ropes.push_back(std::move(rope));
  return config;
}

Result<DenseConfig> read_latent_config(ModelFile& file) {
  PLM_TRY_ASSIGN(DenseConfig config, read_common(file, Reading::causal));
  PLM_TRY_ASSIGN(config.latent, read_latent_size(file, config.shape.hidden_size));
  PLM_TRY_ASSIGN(const double stretch, read_latent_stretch(file));
  const double squared = stretch > 0 ? stretch * stretch : 1;
  const double standard = squared / std::sqrt(static_cast<double>(config.latent->head_dim()));
  PLM_TRY_ASSIGN(const double scale, file.positive_real_or("attention.scale", standard, 1e6));
  config.scores = static_cast<float>(scale);
  const Rope::YarnForm form{.is_stretched = stretch == 0};
  PLM_TRY_ASSIGN(Rope rope, Rope::from_file(file, config.latent->rope_dim, config.shape.trained_context, form));
  config.ropes.push_back(std::move(rope));
  return config;
}

Result<void> add_experts(const ModelFile& file, const ExpertsConfig& standard, DenseConfig& config) {
  PLM_TRY_ASSIGN(config.experts, read_experts(file, standard));
  PLM_TRY_ASSIGN(const std::size_t dense, file.integer_or("leading_dense_block_count", 0, {0, config.layers.size()}));
  for (std::size_t i = dense; i < config.layers.size(); ++i) config.layers[i].has_experts = true;
  return {};
}

Result<std::uint32_t> read_window(const ModelFile& file, std::uint32_t otherwise) {
  PLM_TRY_ASSIGN(const std::size_t window, file.integer_or("attention.sliding_window", otherwise, {0, kMostContext}));
  return static_cast<std::uint32_t>(window);
}

Result<void> refuse_window(const ModelFile& file, const DenseConfig& config) {
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  if (window == 0 || window >= config.shape.trained_context) return {};
  return file.key_error(
      "attention.sliding_window", fmt::format("{}", window),
      fmt::format("0 or at least context_length = {}; this network has no windows here", config.shape.trained_context));
}

Result<std::vector<bool>> read_window_pattern(const ModelFile& file, std::size_t layer_count, std::size_t otherwise) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  if (file.is_array(kKey)) return file.booleans(kKey, layer_count);
  PLM_TRY_ASSIGN(const std::size_t every, file.integer_or(kKey, otherwise, {1, kMostLayers}));
  std::vector<bool> has_window(layer_count);
  for (std::size_t i = 0; i < layer_count; ++i) has_window[i] = (i + 1) % every != 0;
  return has_window;
}

}  // namespace plm
