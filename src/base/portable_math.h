// exp, log, sin, cos, tanh and erf of our own, so that a result never depends on the C library or the machine.
//
// Two families. `*_f32` work in float32 with a fixed sequence of operations, fused multiply-adds included (`std::fma`
// is exact everywhere); the SIMD kernels write the same sequence, which makes them bit-equal. `*_f64` serve tables that
// are computed once (rotation angles) and are accurate to about one unit in the last place. Tested by
// tests/base/test_portable_math.cpp against the C library.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace plm {

namespace portable_math {
// exp: x = n ln 2 + r, |r| <= ln 2 / 2, and a polynomial for e^r (Cephes expf coefficients).
inline constexpr float kLog2E = 1.44269504088896341F;
inline constexpr float kLn2High = 0.693359375F;
inline constexpr float kLn2Low = -2.12194440e-4F;
inline constexpr float kRoundMagic = 12582912.0F;  // 1.5 * 2^23: adding and subtracting it rounds to a whole number
inline constexpr float kExpCoefficients[] = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                                             4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};
inline constexpr float kExpLowest = -87.33654475F;  // below: 0
inline constexpr float kExpHighest = 88.72283905F;  // above: +inf
// tanh: an odd polynomial near zero, 1 - 2 / (e^2|x| + 1) elsewhere (Cephes tanhf coefficients).
inline constexpr float kTanhNear = 0.625F;
inline constexpr float kTanhCoefficients[] = {-5.70498872745e-3F, 2.06390887954e-2F, -5.37397155531e-2F,
                                              1.33314422036e-1F, -3.33332819422e-1F};
// erf: an odd polynomial below 1; above, 1 - e^-x^2 / x P(1/x^2), one P below 2 and one beyond (Cephes erff, erfcf).
inline constexpr float kErfNearCoefficients[] = {7.853861353153693e-5F,  -8.010193625184903e-4F, 5.188327685732524e-3F,
                                                 -2.685381193529856e-2F, 1.128358514861418e-1F,  -3.761262582423300e-1F,
                                                 1.128379165726710e+0F};
inline constexpr float kErfMiddleCoefficients[] = {
    2.326819970068386e-2F,  -1.387039388740657e-1F, 3.687424674597105e-1F,
    -5.824733027278666e-1F, 6.210004621745983e-1F,  -4.944515323274145e-1F,
    3.404879937665872e-1F,  -2.741127028184656e-1F, 5.638259427386472e-1F};
inline constexpr float kErfFarCoefficients[] = {-1.047766399936249e+1F, 1.297719955372516e+1F,  -7.495518717768503e+0F,
                                                2.921019019210786e+0F,  -1.015265279202700e+0F, 4.218463358204948e-1F,
                                                -2.820767439740514e-1F, 5.641895067754075e-1F};
// gelu: its tanh form is x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the exact one x/2 (1 + erf(x / sqrt 2)).
inline constexpr float kSqrtTwoOverPi = 0.7978845608028654F;
inline constexpr float kGeluCubic = 0.044715F;
inline constexpr float kSqrtHalf = 0.7071067811865476F;
// log(1 + u) for u from 0 to 1 = 2 artanh(s), s = u / (2 + u) <= 1/3: the series in s^2, 1/(2i + 1) from i = 8 down.
inline constexpr float kLog1pCoefficients[] = {0x1.e1e1e2p-5F, 0x1.111112p-4F, 0x1.3b13b2p-4F, 0x1.745d18p-4F,
                                               0x1.c71c72p-4F, 0x1.24924ap-3F, 0x1.99999ap-3F, 0x1.555556p-2F};
// The gate of gpt-oss.
inline constexpr float kSwigluSlope = 1.702F;
inline constexpr float kSwigluLimit = 7.0F;

/// c[0] x^(N-1) + ... + c[N-1], by fused steps.
template <std::size_t N>
[[nodiscard]] inline float polynomial(const float (&coefficients)[N], float x) {
  float sum = coefficients[0];
  for (std::size_t i = 1; i < N; ++i) sum = std::fma(sum, x, coefficients[i]);
  return sum;
}
}  // namespace portable_math

/// e^x in float32, about 1 ulp; 0 below -87.34, +inf above 88.72, NaN for NaN.
[[nodiscard]] inline float exp_f32(float x) {
  namespace pm = portable_math;
  if (std::isnan(x)) return x;
  if (x < pm::kExpLowest) return 0.0F;
  if (x > pm::kExpHighest) return std::bit_cast<float>(0x7f800000U);
  const float n = (std::fma(x, pm::kLog2E, pm::kRoundMagic)) - pm::kRoundMagic;
  float r = std::fma(-n, pm::kLn2High, x);
  r = std::fma(-n, pm::kLn2Low, r);
  float p = pm::kExpCoefficients[0];
  for (int i = 1; i < 6; ++i) p = std::fma(p, r, pm::kExpCoefficients[i]);
  const float y = std::fma(p, r * r, r) + 1.0F;
  // 2^n in two factors, so that n = 128 does not overflow before the product does.
  const auto whole = static_cast<std::int32_t>(n);
  const std::int32_t half = whole >> 1;
  const float scale1 = std::bit_cast<float>((half + 127) << 23);
  const float scale2 = std::bit_cast<float>((whole - half + 127) << 23);
  return y * scale1 * scale2;
}

/// 1 / (1 + e^-x) in float32.
[[nodiscard]] inline float sigmoid_f32(float x) { return 1.0F / (1.0F + exp_f32(-x)); }

/// x / (1 + e^-x) in float32.
[[nodiscard]] inline float silu_f32(float x) { return x / (1.0F + exp_f32(-x)); }
/// The gated unit of gpt-oss: both inputs held back, the gate a steeper silu, 1 added to what it multiplies.
[[nodiscard]] inline float clamped_swiglu_f32(float gate, float up) {
  namespace pm = portable_math;
  const float held = gate > pm::kSwigluLimit ? pm::kSwigluLimit : gate;
  const float linear = up > pm::kSwigluLimit ? pm::kSwigluLimit : up < -pm::kSwigluLimit ? -pm::kSwigluLimit : up;
  return held / (1.0F + exp_f32(-(pm::kSwigluSlope * held))) * (linear + 1.0F);
}

/// log(1 + e^x) in float32, within 4 ulp.
[[nodiscard]] inline float softplus_f32(float x) {
  namespace pm = portable_math;
  const float u = exp_f32(-std::abs(x));
  const float s = u / (2.0F + u);
  const float square = s * s;
  const float half = std::fma(pm::polynomial(pm::kLog1pCoefficients, square) * square, s, s);
  const float log1p = half + half;
  return x > 0.0F ? x + log1p : log1p;
}

/// tanh x in float32, within 2e-7.
[[nodiscard]] inline float tanh_f32(float x) {
  namespace pm = portable_math;
  const float size = std::abs(x);
  if (size < pm::kTanhNear) {
    const float square = x * x;
    return std::fma(pm::polynomial(pm::kTanhCoefficients, square) * square, x, x);
  }
  return std::copysign(1.0F - 2.0F / (exp_f32(size + size) + 1.0F), x);
}

/// erf x in float32, within 2e-7.
[[nodiscard]] inline float erf_f32(float x) {
  namespace pm = portable_math;
  const float size = std::abs(x);
  const float square = x * x;
  if (size < 1.0F) return pm::polynomial(pm::kErfNearCoefficients, square) * x;
  const float inverse = 1.0F / size;
  const float inverse_square = inverse * inverse;
  const float tail = size < 2.0F ? pm::polynomial(pm::kErfMiddleCoefficients, inverse_square)
                                 : pm::polynomial(pm::kErfFarCoefficients, inverse_square);
  return std::copysign(1.0F - exp_f32(-square) * inverse * tail, x);
}

/// x Phi(x) in float32, Phi the normal distribution: exactly so, or in the form with tanh that some models were trained
/// with.
[[nodiscard]] inline float gelu_erf_f32(float x) { return 0.5F * x * (1.0F + erf_f32(x * portable_math::kSqrtHalf)); }
[[nodiscard]] inline float gelu_tanh_f32(float x) {
  namespace pm = portable_math;
  const float inner = pm::kSqrtTwoOverPi * std::fma(pm::kGeluCubic * x * x, x, x);
  return 0.5F * x * (1.0F + tanh_f32(inner));
}

/// cap * tanh(x / cap): x where it is small beside the cap, never beyond the cap.
[[nodiscard]] inline float soft_cap_f32(float x, float cap) { return cap * tanh_f32(x / cap); }

[[nodiscard]] double exp_f64(double x);
/// Natural logarithm; x must be positive and finite.
[[nodiscard]] double log_f64(double x);
/// base^exponent for base > 0.
[[nodiscard]] inline double pow_f64(double base, double exponent) { return exp_f64(exponent * log_f64(base)); }

struct SinCos {
  double sin, cos;
};
/// Sine and cosine of an angle in radians, |angle| < 2^40.
[[nodiscard]] SinCos sin_cos_f64(double angle);

}  // namespace plm
