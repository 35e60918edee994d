// Multi-head attention with grouped keys and values (arXiv 2305.13245) and rotary positions.
#pragma once

#include "model/layers/layer_pass.h"
#include "model/layers/linear.h"

namespace plm {

struct AttentionSize {
  std::size_t hidden_size = 0;
  std::size_t q_heads = 0;
  std::size_t kv_heads = 0;  ///< divides q_heads
  std::size_t head_dim = 0;
};

/// Buffers of one pass, reused by every layer.
struct AttentionScratch {
  View queries;  ///< [rows, q_heads * head_dim]
  View keys;     ///< [rows, kv_heads * head_dim]
  View values;   ///< [rows, kv_heads * head_dim]
  View mixed;    ///< [rows, q_heads * head_dim]
};

struct Attention {
  AttentionSize size;
  RopeLayout rope_layout = RopeLayout::interleaved;
  float scale = 1.0F;  ///< on scores, 1/sqrt(head_dim)
  Linear query, key, value, output;

  /// Reads PREFIX.attn_{q,k,v,output}.
  static Result<Attention> load(WeightReader& reader, const std::string& prefix, const AttentionSize& size,
                                RopeLayout layout);

  /// out = attention over what each row sees, its own key and value stored first. in, out: [rows, hidden_size].
  void operator()(const LayerPass& pass, std::size_t layer, const AttentionScratch& scratch, const View& in,
                  const View& out) const;
};

}  // namespace plm
