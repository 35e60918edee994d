#include "base/portable_math.h"

namespace plm {
namespace {

// ln 2 and pi/2 split into a leading part with zero low bits and the rest, for exact range reduction.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfPi1 = 0x1.921fb54400000p+0;
constexpr double kHalfPi2 = 0x1.0b4611a600000p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;
constexpr double kRoundMagic = 0x1.8p52;

double scaled_by_power_of_two(double x, std::int64_t n) {
  const std::int64_t half = n / 2;
  const double scale1 = std::bit_cast<double>(static_cast<std::uint64_t>(half + 1023) << 52);
  const double scale2 = std::bit_cast<double>(static_cast<std::uint64_t>(n - half + 1023) << 52);
  return x * scale1 * scale2;
}

// Taylor series on |r| <= pi/4: the terms shrink by at least a factor of twenty after the first few.
double sine_near_zero(double r) {
  const double z = r * r;
  double sum = 0;
  for (int k = 10; k >= 1; --k) sum = (sum + 1.0) * -z / ((2.0 * k) * (2.0 * k + 1.0));
  return r + r * sum;
}

double cosine_near_zero(double r) {
  const double z = r * r;
  double sum = 0;
  for (int k = 10; k >= 1; --k) sum = (sum + 1.0) * -z / ((2.0 * k) * (2.0 * k - 1.0));
  return 1.0 + sum;
}

}  // namespace

double exp_f64(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.78) return std::bit_cast<double>(0x7ff0000000000000ULL);
  if (x < -745.2) return 0.0;
  const double n = std::fma(x, 0x1.71547652b82fep+0, kRoundMagic) - kRoundMagic;
  const double r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  // e^r - 1 = r (1 + r/2 (1 + r/3 (...))), |r| <= 0.35: fifteen terms reach 1e-17.
  double sum = 0;
  for (int k = 15; k >= 1; --k) sum = r / k * (1.0 + sum);
  return scaled_by_power_of_two(1.0 + sum, static_cast<std::int64_t>(n));
}

double log_f64(double x) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m-1)/(m+1).
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2) sum = z * (1.0 / k + sum);
  const double log_m = 2.0 * (s + s * sum);
  return std::fma(exponent, kLn2High, std::fma(exponent, kLn2Low, log_m));
}

SinCos sin_cos_f64(double angle) {
  const double n = std::fma(angle, 0x1.45f306dc9c883p-1, kRoundMagic) - kRoundMagic;  // quarter turns
  double r = std::fma(-n, kHalfPi1, angle);
  r = std::fma(-n, kHalfPi2, r);
  r = std::fma(-n, kHalfPi3, r);
  const double sine = sine_near_zero(r);
  const double cosine = cosine_near_zero(r);
  switch (static_cast<std::int64_t>(n) & 3) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

}  // namespace plm
