// Vectorised versions of what encoders and heads need besides matrix products. Whatever does not fill a vector is
// computed one by one in the same way. Tested by tests/kernels/cpu/test_curves.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_curves.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {

void layer_norm(const LayerNormWork& work, Share rows) {
  const FloatTag d;
  const std::size_t n = work.in.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* x = work.in.row(r);
    float* out = work.out.row(r);
    const float sum = lanes16_of(
        n, [x](std::size_t i) HWY_ATTR { return load(x + i); }, [x](std::size_t i) { return x[i]; });
    const float mean = sum / static_cast<float>(n);
    const auto squares_from = [x, mean](std::size_t i) HWY_ATTR {
      const Floatv away = hn::Sub(load(x + i), hn::Set(FloatTag(), mean));
      return hn::Mul(away, away);
    };
    const float squares =
        lanes16_of(n, squares_from, [x, mean](std::size_t i) { return (x[i] - mean) * (x[i] - mean); });
    const float root = std::sqrt(squares / static_cast<float>(n) + work.epsilon);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const Floatv away = hn::Sub(load(x + i), hn::Set(d, mean));
      const Floatv scaled = hn::Mul(hn::Div(away, hn::Set(d, root)), load(work.gain + i));
      hn::StoreU(work.bias != nullptr ? hn::Add(scaled, load(work.bias + i)) : scaled, d, out + i);
    }
    for (; i < n; ++i) {
      const float scaled = (x[i] - mean) / root * work.gain[i];
      out[i] = work.bias != nullptr ? scaled + work.bias[i] : scaled;
    }
  }
}

namespace {

float relu_f32(float x) { return x > 0 ? x : 0; }

/// x = curve(x); `one` is the same for a single number.
template <typename Vector>
HWY_INLINE void apply_curve(const CurveWork& work, Share rows, Vector curve, float (*one)(float)) {
  const std::size_t n = work.x.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* x = work.x.row(r);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(curve(load(x + i)), FloatTag(), x + i);
    for (; i < n; ++i) x[i] = one(x[i]);
  }
}

}  // namespace

void apply(const CurveWork& work, Share rows) {
  switch (work.curve) {
    case Curve::silu:
      return apply_curve(
          work, rows, [](Floatv x) HWY_ATTR { return silu_vector(x); }, silu_f32);
    case Curve::gelu_tanh:
      return apply_curve(
          work, rows, [](Floatv x) HWY_ATTR { return gelu_tanh_vector(x); }, gelu_tanh_f32);
    case Curve::gelu_erf:
      return apply_curve(
          work, rows, [](Floatv x) HWY_ATTR { return gelu_erf_vector(x); }, gelu_erf_f32);
    case Curve::relu:
      return apply_curve(
          work, rows, [](Floatv x) HWY_ATTR { return hn::IfThenElseZero(hn::Gt(x, hn::Zero(FloatTag())), x); },
          relu_f32);
    case Curve::tanh:
      return apply_curve(
          work, rows, [](Floatv x) HWY_ATTR { return tanh_vector(x); }, tanh_f32);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(layer_norm);
HWY_EXPORT(apply);
void set_simd_curves(KernelTable& table) {
  table.layer_norm = &HWY_DYNAMIC_DISPATCH(layer_norm);
  table.apply = &HWY_DYNAMIC_DISPATCH(apply);
}
}  // namespace plm
#endif
