// Gated feed-forward network, SwiGLU (Shazeer, arXiv 2002.05202): W_down (silu(W_gate x) * W_up x).
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

  /// Reads PREFIX.ffn_{gate,up,down}.
  static Result<FeedForward> load(WeightReader& reader, const std::string& prefix, std::size_t hidden_size,
                                  std::size_t ffn_size) {
    const MatrixSize wide{.outputs = ffn_size, .inputs = hidden_size};
    const MatrixSize narrow{.outputs = hidden_size, .inputs = ffn_size};
    FeedForward network;
    PLM_TRY_ASSIGN(network.gate, Linear::load(reader, prefix + ".ffn_gate", WeightRole::ffn_gate, wide));
    PLM_TRY_ASSIGN(network.up, Linear::load(reader, prefix + ".ffn_up", WeightRole::ffn_up, wide));
    PLM_TRY_ASSIGN(network.down, Linear::load(reader, prefix + ".ffn_down", WeightRole::ffn_down, narrow));
    return network;
  }

  /// in, out: [rows, hidden_size].
  void operator()(const LayerPass& pass, const FeedForwardScratch& scratch, const View& in, const View& out) const {
    Device& device = pass.device;
    gate(device, in, scratch.gate);
    up(device, in, scratch.up);
    device.silu_multiply(scratch.gate, scratch.up, scratch.gate);
    down(device, scratch.gate, out);
    device.all_reduce(out);
  }
};

}  // namespace plm
