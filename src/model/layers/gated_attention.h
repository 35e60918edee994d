// Attention whose result is gated, number by number, by a second half of the query projection (Qiu et al., arXiv
// 2505.06708); queries and keys are normalised, and rotated in part. Tested by tests/model/test_hybrids.cpp.
#pragma once

#include "model/layers/attention.h"

namespace plm {

struct GatedAttentionScratch {
  View queries;  ///< [rows, q_heads * 2 * head_dim]: of each head the query, then the gate
  AttentionScratch attention;
};

struct GatedAttention {
  AttentionSize size;
  RopeLayout rope_layout = RopeLayout::half_split;
  ScoreRule scores = 1;
  Linear query, key, value, output;
  RmsNorm query_norm, key_norm;

  /// Reads PREFIX.attn_{q,k,v,output} and PREFIX.attn_{q,k}_norm.
  Result<void> load(WeightReader& reader, const std::string& prefix, float norm_epsilon);

  /// As Attention: `kv_layer` is the layer's number among those with keys and values.
  void operator()(const LayerPass& pass, std::size_t kv_layer, const GatedAttentionScratch& scratch, const View& in,
                  const View& out) const;
};

}  // namespace plm
