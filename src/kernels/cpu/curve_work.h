// What the kernels of encoders and heads get; see kernels/cpu/work.h.
#pragma once

#include "kernels/cpu/work.h"

namespace plm {

struct LayerNormWork {
  static constexpr std::size_t kGrain = 1;
  Floats in;
  const float* gain;  ///< [in.columns]
  const float* bias;  ///< [in.columns] or null
  float epsilon;
  Floats out;
  [[nodiscard]] std::size_t units() const { return in.rows; }
};

struct CurveWork {
  static constexpr std::size_t kGrain = 1;
  Floats x;
  Curve curve;
  [[nodiscard]] std::size_t units() const { return x.rows; }
};

}  // namespace plm
