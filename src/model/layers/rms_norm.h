// Root-mean-square normalisation (Zhang and Sennrich, arXiv 1910.07467): x / sqrt(mean(x^2) + epsilon) * gain.
#pragma once

#include <memory>
#include <string>

#include "model/weight_reader.h"

namespace plm {

struct RmsNorm {
  std::unique_ptr<Weight> gain;  ///< [size]
  float epsilon = 0;

  /// Reads NAME.weight.
  static Result<RmsNorm> load(WeightReader& reader, const std::string& name, std::size_t size, float epsilon) {
    RmsNorm norm;
    norm.epsilon = epsilon;
    PLM_TRY_ASSIGN(norm.gain, reader.vector(name + ".weight", WeightRole::norm, size));
    return norm;
  }

  void operator()(Device& device, const View& in, const View& out) const { device.rms_norm(in, *gain, epsilon, out); }
};

}  // namespace plm
