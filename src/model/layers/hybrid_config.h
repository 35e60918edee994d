// What networks with recurrent layers have in common and what they differ in, as model/layers/dense_config.h for dense
// ones. An architecture reads the common part from its file, then sets its own; model/layers/hybrid_model.h runs the
// result. Tested by tests/model/test_refused_models.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/layers/dense_config.h"
#include "model/layers/experts.h"
#include "model/layers/recurrent_size.h"

namespace plm {

/// What mixes the rows of a layer with those before them. Two mixers read the same rows, and both are added.
enum class Mixer : std::uint8_t { attention, gated_attention, mamba, attention_and_mamba, delta_net };

struct HybridConfig {
  ModelShape shape;
  std::vector<Mixer> mixers;  ///< [shape.layer_count]
  AttentionSize attention;    ///< of all layers that have it
  RecurrentSize recurrent;    ///< likewise
  std::size_t ffn_size = 0;   ///< 0: layers have no feed-forward network, or experts in its place
  std::optional<ExpertsConfig> experts;
  float norm_epsilon = 0;

  RopeLayout rope_layout = RopeLayout::half_split;
  std::optional<Rope> rope;  ///< none: attention knows no positions
  ScoreRule scores = 1;
  std::string_view ffn_norm = "ffn_norm";  ///< the tensor's name within the layer; ".weight" may be left out
  float embedding_scale = 1;               ///< on embeddings
  float residual_scale = 1;                ///< on what a branch adds
  float logit_scale = 1;                   ///< on logits
};

/// Reads sizes, vocabulary and epsilon. Errors name the key.
[[nodiscard]] Result<HybridConfig> read_hybrid_config(const ModelFile& file);

/// Reads heads and the scale of scores; `kv_heads` as read_kv_heads gave them. Errors name the key.
[[nodiscard]] Result<void> read_hybrid_attention(const ModelFile& file, std::size_t kv_heads, HybridConfig& config);

/// Key and value heads of every layer, 0 where it has no attention: attention.head_count_kv as one number or as one a
/// layer.
[[nodiscard]] Result<std::vector<std::size_t>> read_kv_heads(const ModelFile& file, std::size_t layer_count);

}  // namespace plm
