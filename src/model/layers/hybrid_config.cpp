#include "model/layers/hybrid_config.h"

#include "model/layers/dense_config.h"

namespace plm {

Result<HybridConfig> read_hybrid_config(const ModelFile& file) {
  HybridConfig config;
  PLM_TRY_ASSIGN(config.shape, read_model_shape(file));
  PLM_TRY_ASSIGN(const double epsilon, file.positive_real("attention.layer_norm_rms_epsilon", 1.0));
  config.norm_epsilon = static_cast<float>(epsilon);
  return config;
}

Result<void> read_hybrid_attention(const ModelFile& file, std::size_t kv_heads, HybridConfig& config) {
  config.attention.hidden_size = config.shape.hidden_size;
  return read_heads(file, kv_heads, config.attention, config.scores);
}

Result<std::vector<std::size_t>> read_kv_heads(const ModelFile& file, std::size_t layer_count) {
  constexpr std::string_view kKey = "attention.head_count_kv";
  if (file.is_array(kKey)) return file.integers(kKey, layer_count, {0, kMostSize});
  PLM_TRY_ASSIGN(const std::size_t heads, file.integer(kKey, {1, kMostSize}));
  return std::vector<std::size_t>(layer_count, heads);
}

}  // namespace plm
