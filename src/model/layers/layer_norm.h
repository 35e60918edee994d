// Layer normalisation (Ba et al., arXiv 1607.06450): (x - mean) / sqrt(variance + epsilon) * gain (+ bias).
#pragma once

#include <memory>
#include <string>

#include "model/weight_reader.h"

namespace plm {

struct LayerNorm {
  std::unique_ptr<Weight> gain;  ///< [size]
  std::unique_ptr<Weight> bias;  ///< [size] or null
  float epsilon = 0;

  /// Reads NAME.weight and, when it is there, NAME.bias.
  static Result<LayerNorm> load(WeightReader& reader, const std::string& name, std::size_t size, float epsilon) {
    LayerNorm norm;
    norm.epsilon = epsilon;
    PLM_TRY_ASSIGN(norm.gain, reader.vector(name + ".weight", WeightRole::norm, size));
    if (reader.has(name + ".bias")) {
      PLM_TRY_ASSIGN(norm.bias, reader.vector(name + ".bias", WeightRole::bias, size));
    }
    return norm;
  }

  void operator()(Device& device, const View& in, const View& out) const {
    device.layer_norm(in, *gain, bias.get(), epsilon, out);
  }
};

}  // namespace plm
