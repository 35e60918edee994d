// Gated feed-forward network (Shazeer, arXiv 2002.05202): W_down (activation(W_gate x) * W_up x).
#pragma once

#include "model/layers/layer_pass.h"
#include "model/layers/linear.h"

namespace plm {

/// Buffers of one pass, reused by every layer: [rows, ffn_size] each.
struct FeedForwardScratch {
  View gate, up;
};

struct FeedForward {
  Linear gate, up, down;
  Activation activation = Activation::silu;

  /// Reads PREFIX.ffn_{gate,up,down}; fused, the gate is the first half of ffn_up. `wide`: [ffn_size, hidden_size].
  Result<void> load(WeightReader& reader, const std::string& prefix, MatrixSize wide, bool is_fused) {
    const MatrixSize narrow{.outputs = wide.inputs, .inputs = wide.outputs};
    const std::string up_name = prefix + ".ffn_up";
    if (is_fused) {
      const std::size_t all = 2 * wide.outputs;
      PLM_TRY_ASSIGN(gate, Linear::load_rows(reader, up_name, WeightRole::ffn_gate, wide, {0, all}));
      PLM_TRY_ASSIGN(up, Linear::load_rows(reader, up_name, WeightRole::ffn_up, wide, {wide.outputs, all}));
    } else {
      PLM_TRY_ASSIGN(gate, Linear::load(reader, prefix + ".ffn_gate", WeightRole::ffn_gate, wide));
      PLM_TRY_ASSIGN(up, Linear::load(reader, up_name, WeightRole::ffn_up, wide));
    }
    PLM_TRY_ASSIGN(down, Linear::load(reader, prefix + ".ffn_down", WeightRole::ffn_down, narrow));
    return {};
  }

  /// in, out: [rows, hidden_size].
  void operator()(const LayerPass& pass, const FeedForwardScratch& scratch, const View& in, const View& out) const {
    Device& device = pass.device;
    gate(device, in, scratch.gate);
    up(device, in, scratch.up);
    device.gate_multiply(scratch.gate, scratch.up, activation, scratch.gate);
    down(device, scratch.gate, out);
    device.all_reduce(out);
  }
};

}  // namespace plm
