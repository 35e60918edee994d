// exp, log, sin, cos, tanh and erf of our own, so that a result never depends on the C library or the machine.
//
// Two families. `*_f32` work in float32 with a fixed sequence of operations, fused multiply-adds included (`std::fma`
// is exact everywhere); the SIMD kernels write the same sequence, which makes them bit-equal. `*_f64` serve tables that
// are computed once (rotation angles) and are accurate to about one unit in the last place. Tested by
// tests/base/test_portable_math.cpp against the C library.
#pragma once

#include <bit>
#include <cmath>
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

/// x / (1 + e^-x) in float32.
[[nodiscard]] inline float silu_f32(float x) { return x / (1.0F + exp_f32(-x)); }

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
