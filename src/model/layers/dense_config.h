// What dense decoder-only networks have in common and what they differ in. An architecture reads the common part from
// its file, then sets its own; model/layers/dense_model.h runs the result. Tested by
// tests/model/test_refused_models.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layers/attention.h"
#include "model/layers/experts.h"
#include "model/layers/latent_attention.h"
#include "model/layers/rope.h"
#include "model/model.h"
#include "model/model_file.h"

namespace plm {

inline constexpr std::size_t kMostLayers = 1024;
inline constexpr std::size_t kMostSize = 1U << 20;  ///< of any one dimension of a network
inline constexpr std::size_t kMostContext = 1U << 30;

/// Where the norms of a branch stand: before it, after it (and before the residual is added), or both.
enum class NormPlacement : std::uint8_t { before, after, around };

/// How one layer differs from others of the same network.
struct LayerKind {
  static constexpr std::size_t kNoRope = ~std::size_t{0};
  std::uint32_t window = 0;  ///< positions that a row sees, its own among them; 0: all
  std::size_t rope = 0;      ///< index into DenseConfig::ropes, or kNoRope
  bool has_experts = false;  ///< DenseConfig::experts in place of the feed-forward network
};

/// How a network was trained to read: what came before only, or the whole page. The pass decides what a row sees; this
/// is for files that say it wrongly.
enum class Reading : std::uint8_t { causal, whole_page };

struct DenseConfig {
  ModelShape shape;
  AttentionSize attention;
  std::optional<LatentSize> latent;  ///< latent attention, in place of the other
  std::size_t ffn_size = 0;
  std::optional<ExpertsConfig> experts;
  float norm_epsilon = 0;

  RopeLayout rope_layout = RopeLayout::half_split;
  NormPlacement norms = NormPlacement::before;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  Activation activation = Activation::silu;
  bool has_sinks = false;                       ///< a score of each head without a cell
  std::string_view ffn_norm_name = "ffn_norm";  ///< before the feed-forward network
  bool is_fused = false;                        ///< one tensor for query, key, value, and one for gate and up
  float embedding_scale = 1;                    ///< on embeddings
  ScoreRule scores = 1;
  float logit_cap = 0;  ///< soft cap of logits; 0: none

  std::vector<Rope> ropes;        ///< at least one
  std::vector<LayerKind> layers;  ///< [shape.layer_count]
};

/// Reads what all have: sizes, epsilon, one rope for all layers, scores scaled by attention.scale or 1/sqrt(head_dim).
/// Errors name the key.
[[nodiscard]] Result<DenseConfig> read_dense_config(ModelFile& file, Reading reading = Reading::causal);

/// The same for latent attention (deepseek2): one rope over the rotated numbers, scores scaled as YaRN has it there.
[[nodiscard]] Result<DenseConfig> read_latent_config(ModelFile& file);

/// Gives all layers but the first leading_dense_block_count experts as read_experts reads them.
[[nodiscard]] Result<void> add_experts(const ModelFile& file, const ExpertsConfig& standard, DenseConfig& config);

// Parts of that, for networks that share no more. Sizes and vocabulary; heads and the scale of scores.
[[nodiscard]] Result<ModelShape> read_model_shape(const ModelFile& file);
/// `attention.hidden_size` must be there; `kv_heads` must divide the query heads.
[[nodiscard]] Result<void> read_heads(const ModelFile& file, std::size_t kv_heads, AttentionSize& attention,
                                      ScoreRule& scores);
[[nodiscard]] Result<void> read_shape(const ModelFile& file, DenseConfig& config);
[[nodiscard]] Result<void> read_attention(const ModelFile& file, DenseConfig& config);

/// The same for latent attention (deepseek2): one rope over the rotated numbers, scores scaled as YaRN has it there.
[[nodiscard]] Result<DenseConfig> read_latent_config(ModelFile& file);

/// Gives all layers but the first leading_dense_block_count experts as read_experts reads them.
[[nodiscard]] Result<void> add_experts(const ModelFile& file, const ExpertsConfig& standard, DenseConfig& config);

/// attention.sliding_window, or `otherwise`. 0: none.
[[nodiscard]] Result<std::uint32_t> read_window(const ModelFile& file, std::uint32_t otherwise = 0);

/// For networks whose layers all see everything. Error when the file states a window shorter than its context.
[[nodiscard]] Result<void> refuse_window(const ModelFile& file, const DenseConfig& config);

/// Which layers have the window: attention.sliding_window_pattern as one truth value a layer, or as a number n (every
/// n-th layer sees all); not stated: n = `otherwise`.
[[nodiscard]] Result<std::vector<bool>> read_window_pattern(const ModelFile& file, std::size_t layer_count,
                                                            std::size_t otherwise);

}  // namespace plm
