// Mamba-2 (Dao and Gu, arXiv 2405.21060), the mixer of a layer:
//   [z | xBC | dt] = W_in n,  xBC = silu(conv(xBC)),  y = scan(x, B, C, dt),  out = W_out norm(y * silu(z))
// The norm, where there is one, is over each group of columns by itself. Tested by tests/model/test_hybrids.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/layers/layer_pass.h"
#include "model/layers/linear.h"
#include "model/layers/recurrent_size.h"
#include "model/layers/rms_norm.h"

namespace plm {

/// Columns of z, xBC and dt together.
[[nodiscard]] inline std::size_t mamba_input_columns(const RecurrentSize& size) {
  return size.inner_size + size.conv_columns() + size.heads;
}

/// Buffers of one pass, reused by every layer.
struct MambaScratch {
  View inputs;  ///< [rows, mamba_input_columns]
  View mixed;   ///< [rows, conv_columns]
  View out;     ///< [rows, inner_size]
};

struct Mamba {
  RecurrentSize size;
  ConvPlace conv_place;
  ScanPlace scan_place;
  Linear input, output;
  std::unique_ptr<Weight> taps, conv_bias, step_bias, rates, skips;
  std::vector<RmsNorm> norms;  ///< one for each group, or none

  /// Reads PREFIX.ssm_*; a norm and a bias of the convolution where they are. Takes its places from `blocks`.
  Result<void> load(WeightReader& reader, const std::string& prefix, float norm_epsilon, RecurrentBlocks& blocks);

  /// in, out: [rows, hidden_size].
  void operator()(const LayerPass& pass, const MambaScratch& scratch, const View& in, const View& out) const;

 private:
  Result<void> load_norms(WeightReader& reader, const std::string& name, float epsilon);
};

}  // namespace plm
