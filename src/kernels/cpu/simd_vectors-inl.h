// What the vectorised kernels share, once per instruction set: vectors that together are 16 lanes wide, the sum tree
// lanes16 on them, e^x and its relatives, and loading stored numbers. Every sequence of operations is that of the plain
// version, so that the bits are equal where multiply-add is fused. Tested by tests/kernels/cpu/test_layers.cpp.
#if defined(PLM_KERNELS_CPU_SIMD_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLM_KERNELS_CPU_SIMD_VECTORS_INL_H_
#undef PLM_KERNELS_CPU_SIMD_VECTORS_INL_H_
#else
#define PLM_KERNELS_CPU_SIMD_VECTORS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>
#include "base/portable_math.h"

#ifndef PLM_UNROLL
/// Before a short loop over an array of vectors: the loop must disappear, or the array lives in memory.
#define PLM_UNROLL _Pragma("GCC unroll 16")
/// Before the loop around such loops: unrolled as well, it would only cost time to compile and room in the caches.
#define PLM_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using Int32Tag = hn::RebindToSigned<FloatTag>;
using Uint32Tag = hn::RebindToUnsigned<FloatTag>;
using Floatv = hn::Vec<FloatTag>;
using Int32v = hn::Vec<Int32Tag>;
using Uint32v = hn::Vec<Uint32Tag>;

inline constexpr std::size_t kLanes = hn::MaxLanes(FloatTag());
inline constexpr std::size_t kVectors = 16 / kLanes;  ///< vectors that make 16 lanes

// ---- Numbers as they are stored, one per lane; `from` needs no alignment.

HWY_INLINE Floatv load(const float* from) { return hn::LoadU(FloatTag(), from); }

HWY_INLINE Floatv load_f32(const std::byte* from) {
  return hn::LoadU(FloatTag(), reinterpret_cast<const float*>(from));
}
HWY_INLINE Floatv load_f16(const std::byte* from) {
  const hn::Rebind<hwy::float16_t, FloatTag> halves;
  return hn::PromoteTo(FloatTag(), hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from)));
}
HWY_INLINE Floatv load_bf16(const std::byte* from) {
  const hn::Rebind<hwy::bfloat16_t, FloatTag> halves;
  return hn::PromoteTo(FloatTag(), hn::LoadU(halves, reinterpret_cast<const hwy::bfloat16_t*>(from)));
}
HWY_INLINE Int32v load_i8(const std::byte* from) {
  const hn::Rebind<std::int8_t, FloatTag> bytes;
  return hn::PromoteTo(Int32Tag(), hn::LoadU(bytes, reinterpret_cast<const std::int8_t*>(from)));
}
HWY_INLINE Uint32v load_u8(const std::byte* from) {
  const hn::Rebind<std::uint8_t, FloatTag> bytes;
  return hn::PromoteTo(Uint32Tag(), hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
}
HWY_INLINE Uint32v load_u32(const std::byte* from) {
  return hn::LoadU(Uint32Tag(), reinterpret_cast<const std::uint32_t*>(from));
}

/// Whole numbers below 2^31 as floats.
HWY_INLINE Floatv to_float(Uint32v v) { return hn::ConvertTo(FloatTag(), hn::BitCast(Int32Tag(), v)); }

// ---- lanes16 (kernels/device.h)

/// Adds lanes j and j + 8, then j + 4, j + 2, j + 1.
HWY_INLINE float add_lanes16(float (&lanes)[16]) {
  for (std::size_t width = 8; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

/// lanes16 of `count` numbers: values(i) gives the vector of those from i on, value(i) a single one, of the rest.
template <typename Values, typename Value>
HWY_INLINE float lanes16_of(std::size_t count, Values values, Value value) {
  Floatv sums[kVectors];
  PLM_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(FloatTag());
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    PLM_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::Add(sums[v], values(i + v * kLanes));
  }
  HWY_ALIGN float lanes[16];
  PLM_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sums[v], FloatTag(), lanes + v * kLanes);
  for (; i < count; ++i) lanes[i % 16] += value(i);
  return add_lanes16(lanes);
}

// ---- e^x, step by step as plm::exp_f32

HWY_INLINE Floatv exp_vector(Floatv x) {
  namespace pm = portable_math;
  const FloatTag d;
  const Int32Tag di;
  const Floatv magic = hn::Set(d, pm::kRoundMagic);
  const Floatv n = hn::Sub(hn::MulAdd(x, hn::Set(d, pm::kLog2E), magic), magic);
  Floatv r = hn::NegMulAdd(n, hn::Set(d, pm::kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, pm::kLn2Low), r);
  Floatv p = hn::Set(d, pm::kExpCoefficients[0]);
  for (int i = 1; i < 6; ++i) p = hn::MulAdd(p, r, hn::Set(d, pm::kExpCoefficients[i]));
  const Floatv y = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0F));
  const Int32v whole = hn::ConvertTo(di, n);
  const Int32v half = hn::ShiftRight<1>(whole);
  const Int32v bias = hn::Set(di, 127);
  const Floatv scale1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const Floatv scale2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  Floatv result = hn::Mul(hn::Mul(y, scale1), scale2);
  result = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, pm::kExpLowest)), result);
  result = hn::IfThenElse(hn::Gt(x, hn::Set(d, pm::kExpHighest)), hn::Inf(d), result);
  return hn::IfThenElse(hn::Eq(x, x), result, x);  // NaN stays NaN
}

// ---- tanh, erf and what is made of them, step by step as in base/portable_math.h

template <std::size_t N>
HWY_INLINE Floatv polynomial_vector(const float (&coefficients)[N], Floatv x) {
  Floatv sum = hn::Set(FloatTag(), coefficients[0]);
  for (std::size_t i = 1; i < N; ++i) sum = hn::MulAdd(sum, x, hn::Set(FloatTag(), coefficients[i]));
  return sum;
}

HWY_INLINE Floatv tanh_vector(Floatv x) {
  namespace pm = portable_math;
  const FloatTag d;
  const Floatv size = hn::Abs(x), one = hn::Set(d, 1.0F), square = hn::Mul(x, x);
  const Floatv near = hn::MulAdd(hn::Mul(polynomial_vector(pm::kTanhCoefficients, square), square), x, x);
  const Floatv grown = hn::Add(exp_vector(hn::Add(size, size)), one);
  const Floatv far = hn::CopySign(hn::Sub(one, hn::Div(hn::Set(d, 2.0F), grown)), x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, pm::kTanhNear)), near, far);
}

HWY_INLINE Floatv erf_vector(Floatv x) {
  namespace pm = portable_math;
  const FloatTag d;
  const Floatv size = hn::Abs(x), one = hn::Set(d, 1.0F), square = hn::Mul(x, x);
  const Floatv near = hn::Mul(polynomial_vector(pm::kErfNearCoefficients, square), x);
  const Floatv inverse = hn::Div(one, size);
  const Floatv inverse_square = hn::Mul(inverse, inverse);
  const Floatv tail =
      hn::IfThenElse(hn::Lt(size, hn::Set(d, 2.0F)), polynomial_vector(pm::kErfMiddleCoefficients, inverse_square),
                     polynomial_vector(pm::kErfFarCoefficients, inverse_square));
  const Floatv rest = hn::Mul(hn::Mul(exp_vector(hn::Neg(square)), inverse), tail);
  return hn::IfThenElse(hn::Lt(size, one), near, hn::CopySign(hn::Sub(one, rest), x));
}

HWY_INLINE Floatv sigmoid_vector(Floatv x) {
  const Floatv one = hn::Set(FloatTag(), 1.0F);
  return hn::Div(one, hn::Add(one, exp_vector(hn::Neg(x))));
}

HWY_INLINE Floatv silu_vector(Floatv x) {
  return hn::Div(x, hn::Add(hn::Set(FloatTag(), 1.0F), exp_vector(hn::Neg(x))));
}

HWY_INLINE Floatv clamped_swiglu_vector(Floatv gate, Floatv up) {
  namespace pm = portable_math;
  const FloatTag d;
  const Floatv limit = hn::Set(d, pm::kSwigluLimit), one = hn::Set(d, 1.0F);
  const Floatv held = hn::IfThenElse(hn::Gt(gate, limit), limit, gate);
  const Floatv below = hn::IfThenElse(hn::Gt(up, limit), limit, up);
  const Floatv linear = hn::IfThenElse(hn::Lt(below, hn::Neg(limit)), hn::Neg(limit), below);
  const Floatv steep = hn::Mul(hn::Set(d, pm::kSwigluSlope), held);
  return hn::Mul(hn::Div(held, hn::Add(one, exp_vector(hn::Neg(steep)))), hn::Add(linear, one));
}

HWY_INLINE Floatv gelu_erf_vector(Floatv x) {
  const FloatTag d;
  const Floatv erf = erf_vector(hn::Mul(x, hn::Set(d, portable_math::kSqrtHalf)));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5F), x), hn::Add(hn::Set(d, 1.0F), erf));
}

HWY_INLINE Floatv gelu_tanh_vector(Floatv x) {
  namespace pm = portable_math;
  const FloatTag d;
  const Floatv cubic = hn::Mul(hn::Mul(hn::Set(d, pm::kGeluCubic), x), x);
  const Floatv inner = hn::Mul(hn::Set(d, pm::kSqrtTwoOverPi), hn::MulAdd(cubic, x, x));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5F), x), hn::Add(hn::Set(d, 1.0F), tanh_vector(inner)));
}

HWY_INLINE Floatv soft_cap_vector(Floatv x, Floatv cap) { return hn::Mul(cap, tanh_vector(hn::Div(x, cap))); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#endif
