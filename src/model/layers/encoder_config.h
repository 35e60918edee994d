// What encoders have in common and what they differ in. An architecture reads the common part from its file, then sets
// its own; model/layers/encoder_model.h runs the result. Tested by tests/model/test_encoders.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layers/dense_config.h"

namespace plm {

struct EncoderConfig {
  ModelShape shape;
  AttentionSize attention;
  ScoreRule scores = 1;
  std::size_t ffn_size = 0;
  float norm_epsilon = 0;

  bool learns_positions = false;  ///< a row of position_embd is added to each token
  std::size_t type_count = 0;  ///< rows of token_types, one of which is added to each token; 0: there is no such table
  bool norms_before = false;   ///< before the branches and once at the end; else behind each sum
  bool first_norm_missing = false;         ///< the first layer's attention takes its input as it is
  bool is_gated = false;                   ///< the feed-forward network has a gate
  bool is_fused = false;                   ///< one tensor for query, key, value
  bool gate_is_fused = false;              ///< one tensor for gate and up
  Activation gate = Activation::gelu_erf;  ///< of a feed-forward network that has one
  Curve curve = Curve::gelu_erf;           ///< inside one that has none

  /// Half of a symmetric window: a row sees that many positions on either side; 0: all.
  struct Layer {
    std::uint32_t reach = 0;
    std::size_t rope = LayerKind::kNoRope;  ///< index into `ropes`
  };
  std::vector<Rope> ropes;
  std::vector<Layer> layers;  ///< [shape.layer_count]
};

/// Reads what all have: sizes, epsilon, the number of token types. Errors name the key.
[[nodiscard]] Result<EncoderConfig> read_encoder_config(ModelFile& file);

}  // namespace plm
