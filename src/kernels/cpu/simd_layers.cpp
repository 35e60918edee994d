// Vectorised versions of what stands between the matrix products: norm, rotation, activation, residual. Whatever does
// not fill a vector is computed one by one in the same way. Tested by tests/kernels/cpu/test_layers.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_layers.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {

void rms_norm(const RmsNormWork& work, Share rows) {
  const FloatTag d;
  const std::size_t n = work.in.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* x = work.in.row(r);
    float* out = work.out.row(r);
    const float squares = lanes16_of(
        n, [x](std::size_t i) HWY_ATTR { return hn::Mul(load(x + i), load(x + i)); },
        [x](std::size_t i) { return x[i] * x[i]; });
    const float root = std::sqrt(squares / static_cast<float>(n) + work.epsilon);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      hn::StoreU(hn::Mul(hn::Div(load(x + i), hn::Set(d, root)), load(work.gain + i)), d, out + i);
    }
    for (; i < n; ++i) out[i] = x[i] / root * work.gain[i];
  }
}

void rope(const RopeWork& work, Share rows) {
  const FloatTag d;
  const std::size_t pairs = work.angles.columns / 2;
  if (pairs % kLanes != 0) return reference::rope(work, rows);
  const bool interleaved = work.layout == RopeLayout::interleaved;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* cosines = work.angles.row(r);
    for (std::size_t head = 0; head < work.x.columns; head += work.head_dim) {
      float* x = work.x.row(r) + head;
      for (std::size_t i = 0; i < pairs; i += kLanes) {
        Floatv a = load(x + i), b = load(x + pairs + i);
        if (interleaved) hn::LoadInterleaved2(d, x + 2 * i, a, b);
        const Floatv cosine = load(cosines + i), sine = load(cosines + pairs + i);
        const Floatv turned_a = hn::Sub(hn::Mul(a, cosine), hn::Mul(b, sine));
        const Floatv turned_b = hn::Add(hn::Mul(a, sine), hn::Mul(b, cosine));
        if (interleaved) {
          hn::StoreInterleaved2(turned_a, turned_b, d, x + 2 * i);
        } else {
          hn::StoreU(turned_a, d, x + i);
          hn::StoreU(turned_b, d, x + pairs + i);
        }
      }
    }
  }
}

namespace {

/// Lane i becomes lane i ^ Distance.
template <std::size_t Distance, class Vector>
HWY_INLINE Vector swap_lanes(Vector v) {
  if constexpr (Distance == 1) return hn::Shuffle2301(v);
  if constexpr (Distance == 2) return hn::Shuffle1032(v);
  if constexpr (Distance == 4) return hn::SwapAdjacentBlocks(v);
  if constexpr (Distance == 8) return hn::SwapAdjacentBlocks(hn::ReverseBlocks(FloatTag(), v));
}

/// Sums of lanes i and i + Distance, and their differences; then the same for twice the distance.
template <std::size_t Distance>
HWY_INLINE Floatv sum_and_differ(Floatv v) {
  if constexpr (Distance < kLanes) {
    const Int32Tag di;
    const Int32v lane = hn::Iota(di, 0), bit = hn::Set(di, Distance);
    const auto is_upper = hn::RebindMask(FloatTag(), hn::TestBit(lane, bit));
    const Floatv signed_v = hn::IfThenElse(is_upper, hn::Neg(v), v);
    return sum_and_differ<2 * Distance>(hn::Add(swap_lanes<Distance>(v), signed_v));
  } else {
    return v;
  }
}

HWY_INLINE void transform_block(float* x, std::size_t block, Floatv factor) {
  const FloatTag d;
  for (std::size_t i = 0; i < block; i += kLanes) hn::StoreU(sum_and_differ<1>(load(x + i)), d, x + i);
  for (std::size_t distance = kLanes; distance < block; distance *= 2) {
    for (std::size_t first = 0; first < block; first += 2 * distance) {
      for (std::size_t i = first; i < first + distance; i += kLanes) {
        const Floatv a = load(x + i), b = load(x + i + distance);
        hn::StoreU(hn::Add(a, b), d, x + i);
        hn::StoreU(hn::Sub(a, b), d, x + i + distance);
      }
    }
  }
  for (std::size_t i = 0; i < block; i += kLanes) hn::StoreU(hn::Mul(load(x + i), factor), d, x + i);
}

}  // namespace

void hadamard(const HadamardWork& work, Share rows) {
  if (work.block < kLanes) return reference::hadamard(work, rows);
  const Floatv factor = hn::Set(FloatTag(), 1 / std::sqrt(static_cast<float>(work.block)));
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    for (float *x = work.x.row(r), *end = x + work.x.columns; x != end; x += work.block) {
      transform_block(x, work.block, factor);
    }
  }
}

namespace {

/// out = unit(gate, up); `one` is the same for single numbers.
template <typename Unit>
HWY_INLINE void pass_gate(const GateWork& work, Share rows, Unit unit, float (*one)(float, float)) {
  const FloatTag d;
  const std::size_t n = work.gate.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* gate = work.gate.row(r);
    const float* up = work.up.row(r);
    float* out = work.out.row(r);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(unit(load(gate + i), load(up + i)), d, out + i);
    for (; i < n; ++i) out[i] = one(gate[i], up[i]);
  }
}

}  // namespace

void gate_multiply(const GateWork& work, Share rows) {
  switch (work.activation) {
    case Activation::silu:
      return pass_gate(
          work, rows, [](Floatv gate, Floatv up) HWY_ATTR { return hn::Mul(silu_vector(gate), up); },
          [](float gate, float up) { return silu_f32(gate) * up; });
    case Activation::gelu_tanh:
      return pass_gate(
          work, rows, [](Floatv gate, Floatv up) HWY_ATTR { return hn::Mul(gelu_tanh_vector(gate), up); },
          [](float gate, float up) { return gelu_tanh_f32(gate) * up; });
    case Activation::gelu_erf:
      return pass_gate(
          work, rows, [](Floatv gate, Floatv up) HWY_ATTR { return hn::Mul(gelu_erf_vector(gate), up); },
          [](float gate, float up) { return gelu_erf_f32(gate) * up; });
    case Activation::clamped_swiglu:
      return pass_gate(
          work, rows, [](Floatv gate, Floatv up) HWY_ATTR { return clamped_swiglu_vector(gate, up); },
          clamped_swiglu_f32);
    case Activation::sigmoid:
      return pass_gate(
          work, rows, [](Floatv gate, Floatv up) HWY_ATTR { return hn::Mul(sigmoid_vector(gate), up); },
          [](float gate, float up) { return sigmoid_f32(gate) * up; });
  }
}

void soft_cap(const SoftCapWork& work, Share rows) {
  const FloatTag d;
  const std::size_t n = work.x.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* x = work.x.row(r);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(soft_cap_vector(load(x + i), hn::Set(d, work.cap)), d, x + i);
    for (; i < n; ++i) x[i] = soft_cap_f32(x[i], work.cap);
  }
}

void add(const AddWork& work, Share rows) {
  const std::size_t n = work.x.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* x = work.x.row(r);
    const float* y = work.y.row(r);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::Add(load(x + i), load(y + i)), FloatTag(), x + i);
    for (; i < n; ++i) x[i] += y[i];
  }
}

void scale(const ScaleWork& work, Share rows) {
  const FloatTag d;
  const std::size_t n = work.x.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* x = work.x.row(r);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::Mul(load(x + i), hn::Set(d, work.factor)), d, x + i);
    for (; i < n; ++i) x[i] *= work.factor;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(rms_norm);
HWY_EXPORT(rope);
HWY_EXPORT(hadamard);
HWY_EXPORT(gate_multiply);
HWY_EXPORT(soft_cap);
HWY_EXPORT(add);
HWY_EXPORT(scale);
void set_simd_layers(KernelTable& table) {
  table.rms_norm = &HWY_DYNAMIC_DISPATCH(rms_norm);
  table.rope = &HWY_DYNAMIC_DISPATCH(rope);
  table.hadamard = &HWY_DYNAMIC_DISPATCH(hadamard);
  table.gate_multiply = &HWY_DYNAMIC_DISPATCH(gate_multiply);
  table.soft_cap = &HWY_DYNAMIC_DISPATCH(soft_cap);
  table.add = &HWY_DYNAMIC_DISPATCH(add);
  table.scale = &HWY_DYNAMIC_DISPATCH(scale);
}
}  // namespace plm
#endif
