// Gated DeltaNet (Yang, Kautz and Hatamizadeh, arXiv 2412.06464), the mixer of a layer:
//   [q | k | v] = silu(conv(W_qkv n)),  o = delta_rule(q / (|q| sqrt(key_size)), k / |k|, v, b, a)
//   out = W_out (norm(o) * silu(W_z n)), the norm over each head
// Tested by tests/model/test_hybrids.cpp.
#pragma once

#include <memory>
#include <string>

#include "model/layers/layer_pass.h"
#include "model/layers/linear.h"
#include "model/layers/recurrent_size.h"
#include "model/layers/rms_norm.h"

namespace plm {

/// Buffers of one pass, reused by every layer.
struct DeltaNetScratch {
  View inputs;         ///< [rows, conv_columns]
  View queries, keys;  ///< [rows, key_columns]
  View values;         ///< [rows, inner_size]
  View gate;           ///< [rows, inner_size]
  View steps;          ///< [rows, 2 * heads]
  View out;            ///< [rows, inner_size]
};

struct DeltaNet {
  /// A third of the convolution: queries, keys or values.
  struct Branch {
    std::unique_ptr<Weight> taps;
    ConvPlace place;
    std::size_t first_column = 0;
  };

  RecurrentSize size;
  ScanPlace scan_place;
  Linear input, gate, steps, output;
  Branch queries, keys, values;
  RmsNorm query_norm, key_norm;  ///< to length 1/sqrt(key_size) and 1
  std::unique_ptr<Weight> step_bias, rates;
  RmsNorm norm;

  /// Reads PREFIX.attn_{qkv,gate} and PREFIX.ssm_*. Takes its places from `blocks`.
  Result<void> load(WeightReader& reader, const std::string& prefix, float norm_epsilon, RecurrentBlocks& blocks);

  /// in, out: [rows, hidden_size].
  void operator()(const LayerPass& pass, const DeltaNetScratch& scratch, const View& in, const View& out) const;

 private:
  Result<void> load_convolution(WeightReader& reader, const std::string& name, RecurrentBlocks& blocks);
  Result<void> make_norms(WeightReader& reader);
};

}  // namespace plm
