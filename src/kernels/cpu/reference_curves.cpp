// Plain versions of what encoders and heads need besides matrix products: layer normalisation, curves without a gate.
// Tested by tests/kernels/cpu/test_curves.cpp.
#include <cmath>

#include "base/portable_math.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/lanes16.h"

namespace plm::reference {

void layer_norm(const LayerNormWork& work, Share rows) {
  const std::size_t n = work.in.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* x = work.in.row(r);
    float* out = work.out.row(r);
    const float mean = lanes16(n, [x](std::size_t i) { return x[i]; }) / static_cast<float>(n);
    const float squares = lanes16(n, [x, mean](std::size_t i) { return (x[i] - mean) * (x[i] - mean); });
    const float root = std::sqrt(squares / static_cast<float>(n) + work.epsilon);
    for (std::size_t i = 0; i < n; ++i) {
      const float scaled = (x[i] - mean) / root * work.gain[i];
      out[i] = work.bias != nullptr ? scaled + work.bias[i] : scaled;
    }
  }
}

namespace {

float relu_f32(float x) { return x > 0 ? x : 0; }

template <float (*One)(float)>
void apply_curve(const CurveWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* x = work.x.row(r);
    for (std::size_t i = 0; i < work.x.columns; ++i) x[i] = One(x[i]);
  }
}

}  // namespace

void apply(const CurveWork& work, Share rows) {
  switch (work.curve) {
    case Curve::silu: return apply_curve<silu_f32>(work, rows);
    case Curve::gelu_tanh: return apply_curve<gelu_tanh_f32>(work, rows);
    case Curve::gelu_erf: return apply_curve<gelu_erf_f32>(work, rows);
    case Curve::relu: return apply_curve<relu_f32>(work, rows);
    case Curve::tanh: return apply_curve<tanh_f32>(work, rows);
  }
}

}  // namespace plm::reference
