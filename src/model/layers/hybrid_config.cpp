#include "model/layers/hybrid_config.h"

#include <algorithm>
#include <cmath>

namespace plm {

Result<HybridConfig> read_hybrid_config(const ModelFile& file) {
  HybridConfig config;
  ModelShape& shape = config.shape;
  shape.architecture = file.architecture();
  PLM_TRY_ASSIGN(shape.layer_count, file.integer("block_count", {1, kMostLayers}));
  if (shape.layer_count != file.layers_in_file()) {
    return file.key_error("block_count", fmt::format("{}", shape.layer_count),
                          fmt::format("{}, as many layers as the file has tensors for", file.layers_in_file()));
  }
  PLM_TRY_ASSIGN(shape.hidden_size, file.integer("embedding_length", {1, kMostSize}));
  PLM_TRY_ASSIGN(shape.trained_context, file.integer("context_length", {1, kMostContext}));
  PLM_TRY_ASSIGN(const double epsilon, file.positive_real("attention.layer_norm_rms_epsilon", 1.0));
  config.norm_epsilon = static_cast<float>(epsilon);
  const TensorEntry* table = file.gguf().find_tensor("token_embd.weight");
  const std::size_t rows = table != nullptr ? table->dims[1] : 0;  // without a table, loading fails
  PLM_TRY_ASSIGN(shape.vocab_size, file.integer_or("vocab_size", rows, {1, kMostSize}));
  if (table != nullptr && shape.vocab_size != rows) {
    return file.key_error("vocab_size", fmt::format("{}", shape.vocab_size),
                          fmt::format("{}, the rows of tensor token_embd.weight", rows));
  }
  shape.parameter_count = file.parameter_count();
  return config;
}

Result<void> read_hybrid_attention(const ModelFile& file, std::size_t kv_heads, HybridConfig& config) {
  AttentionSize& attention = config.attention;
  attention.hidden_size = config.shape.hidden_size;
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
  config.scores = static_cast<float>(scale);
  return {};
}

Result<std::vector<std::size_t>> read_kv_heads(const ModelFile& file, std::size_t layer_count) {
  constexpr std::string_view kKey = "attention.head_count_kv";
  if (file.is_array(kKey)) return file.integers(kKey, layer_count, {0, kMostSize});
  PLM_TRY_ASSIGN(const std::size_t heads, file.integer(kKey, {1, kMostSize}));
  return std::vector<std::size_t>(layer_count, heads);
}

}  // namespace plm
