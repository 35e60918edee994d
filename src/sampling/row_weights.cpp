#include "sampling/row_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/row_weights.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for every instruction set
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <cstddef>

#include "base/portable_math.h"
#include "sampling/partial_sums.h"

HWY_BEFORE_NAMESPACE();
namespace plm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The term of `row_distance_sum`, a whole product in double.
inline double distance_term(float weight, float distance) {
  return weight > 0 ? static_cast<double>(weight) * static_cast<double>(distance) : 0.0;  // else 0 times infinity
}

// As many whole groups of eight as the fast path takes; each returns how many values that is. Elsewhere the plain loop
// does all: it needs eight lanes and a fused multiply-add in hardware to be equal and faster.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

using Floats = hn::CappedTag<float, 8>;
using HalfFloats = hn::Half<Floats>;
using Doubles = hn::CappedTag<double, 4>;

// PartialSums in two registers.
class Sums {
 public:
  HWY_INLINE explicit Sums(const PartialSums& sums)
      : low_(hn::LoadU(Doubles(), sums.data())), high_(hn::LoadU(Doubles(), sums.data() + 4)) {}
  template <class V>
  HWY_INLINE void add(V x) {
    low_ = hn::Add(low_, hn::PromoteTo(Doubles(), hn::LowerHalf(HalfFloats(), x)));
    high_ = hn::Add(high_, hn::PromoteTo(Doubles(), hn::UpperHalf(HalfFloats(), x)));
  }
  template <class V>
  HWY_INLINE void add_product(V x, V y) {
    const Doubles d;
    const HalfFloats half;
    low_ = hn::Add(low_, hn::Mul(hn::PromoteTo(d, hn::LowerHalf(half, x)), hn::PromoteTo(d, hn::LowerHalf(half, y))));
    high_ = hn::Add(high_, hn::Mul(hn::PromoteTo(d, hn::UpperHalf(half, x)), hn::PromoteTo(d, hn::UpperHalf(half, y))));
  }
  HWY_INLINE void store(PartialSums& sums) const {
    hn::StoreU(low_, Doubles(), sums.data());
    hn::StoreU(high_, Doubles(), sums.data() + 4);
  }

 private:
  hn::Vec<Doubles> low_, high_;
};

// The steps of exp_f32 for x <= 0.
HWY_INLINE hn::Vec<Floats> exp_of_not_positive(hn::Vec<Floats> x) {
  namespace pm = portable_math;
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const auto magic = hn::Set(d, pm::kRoundMagic);
  const auto rounded = hn::MulAdd(x, hn::Set(d, pm::kLog2E), magic);
  const auto n = hn::Sub(rounded, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, pm::kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, pm::kLn2Low), r);
  auto p = hn::Set(d, pm::kExpCoefficients[0]);
  for (int i = 1; i < 6; ++i) p = hn::MulAdd(p, r, hn::Set(d, pm::kExpCoefficients[i]));
  const auto y = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0F));
  // 2^n in one factor, which n >= -126 allows: n is in the lowest bits of the sum that rounded it.
  const auto exponent = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, rounded)), hn::Set(di, 127 << 23));
  const auto e = hn::Mul(y, hn::BitCast(d, exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, pm::kExpLowest)), e);
}

// Of a logit with this weight; 0 where that is 0.
HWY_INLINE hn::Vec<Floats> distance_of(hn::Vec<Floats> weight, hn::Vec<Floats> logit, hn::Vec<Floats> highest) {
  return hn::IfThenElseZero(hn::Gt(weight, hn::Zero(Floats())), hn::Sub(highest, logit));
}

std::size_t weigh_in_eights(std::span<const float> logits, float highest, float* weights, PartialSums& sums) {
  const Floats d;
  Sums total(sums);
  const std::size_t whole = logits.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const auto weight = exp_of_not_positive(hn::Sub(hn::LoadU(d, logits.data() + i), hn::Set(d, highest)));
    hn::StoreU(weight, d, weights + i);
    total.add(weight);
  }
  total.store(sums);
  return whole;
}

std::size_t add_distances_in_eights(std::span<const float> logits, float highest, const float* weights,
                                    PartialSums& sums) {
  const Floats d;
  Sums total(sums);
  const std::size_t whole = logits.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const auto weight = hn::LoadU(d, weights + i);
    total.add_product(weight, distance_of(weight, hn::LoadU(d, logits.data() + i), hn::Set(d, highest)));
  }
  total.store(sums);
  return whole;
}

std::size_t add_mass_in_eights(std::span<const float> logits, float highest, PartialSums& weights,
                               PartialSums& distances) {
  const Floats d;
  Sums weight_total(weights), distance_total(distances);
  const std::size_t whole = logits.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const auto logit = hn::LoadU(d, logits.data() + i);
    const auto weight = exp_of_not_positive(hn::Sub(logit, hn::Set(d, highest)));
    weight_total.add(weight);
    distance_total.add_product(weight, distance_of(weight, logit, hn::Set(d, highest)));
  }
  weight_total.store(weights);
  distance_total.store(distances);
  return whole;
}

std::size_t add_in_eights(std::span<const float> weights, PartialSums& sums) {
  Sums total(sums);
  const std::size_t whole = weights.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) total.add(hn::LoadU(Floats(), weights.data() + i));
  total.store(sums);
  return whole;
}

#else

std::size_t weigh_in_eights(std::span<const float>, float, float*, PartialSums&) { return 0; }
std::size_t add_distances_in_eights(std::span<const float>, float, const float*, PartialSums&) { return 0; }
std::size_t add_mass_in_eights(std::span<const float>, float, PartialSums&, PartialSums&) { return 0; }
std::size_t add_in_eights(std::span<const float>, PartialSums&) { return 0; }

#endif

double weights_of_target(std::span<const float> logits, float highest, float* weights, bool is_reference) {
  PartialSums s{};
  for (std::size_t i = is_reference ? 0 : weigh_in_eights(logits, highest, weights, s); i < logits.size(); ++i) {
    weights[i] = exp_f32(logits[i] - highest);
    s[i % s.size()] += static_cast<double>(weights[i]);
  }
  return sum_of(s);
}

double distance_sum_of_target(std::span<const float> logits, float highest, const float* weights, bool is_reference) {
  PartialSums s{};
  const std::size_t done = is_reference ? 0 : add_distances_in_eights(logits, highest, weights, s);
  for (std::size_t i = done; i < logits.size(); ++i) s[i % s.size()] += distance_term(weights[i], highest - logits[i]);
  return sum_of(s);
}

RowMass mass_of_target(std::span<const float> logits, float highest, bool is_reference) {
  PartialSums weights{}, distances{};
  const std::size_t done = is_reference ? 0 : add_mass_in_eights(logits, highest, weights, distances);
  for (std::size_t i = done; i < logits.size(); ++i) {
    const float weight = exp_f32(logits[i] - highest);
    weights[i % weights.size()] += static_cast<double>(weight);
    distances[i % distances.size()] += distance_term(weight, highest - logits[i]);
  }
  return {.weights = sum_of(weights), .distances = sum_of(distances)};
}

double sum_of_target(std::span<const float> weights, bool is_reference) {
  PartialSums s{};
  for (std::size_t i = is_reference ? 0 : add_in_eights(weights, s); i < weights.size(); ++i) {
    s[i % s.size()] += static_cast<double>(weights[i]);
  }
  return sum_of(s);
}

}  // namespace plm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {

HWY_EXPORT(weights_of_target);
HWY_EXPORT(distance_sum_of_target);
HWY_EXPORT(mass_of_target);
HWY_EXPORT(sum_of_target);

double row_weights(std::span<const float> logits, float highest, float* weights) {
  return HWY_DYNAMIC_DISPATCH(weights_of_target)(logits, highest, weights, false);
}

double row_weights_reference(std::span<const float> logits, float highest, float* weights) {
  return HWY_STATIC_DISPATCH(weights_of_target)(logits, highest, weights, true);
}

double row_distance_sum(std::span<const float> logits, float highest, std::span<const float> weights) {
  return HWY_DYNAMIC_DISPATCH(distance_sum_of_target)(logits, highest, weights.data(), false);
}

double row_distance_sum_reference(std::span<const float> logits, float highest, std::span<const float> weights) {
  return HWY_STATIC_DISPATCH(distance_sum_of_target)(logits, highest, weights.data(), true);
}

RowMass row_mass(std::span<const float> logits, float highest) {
  return HWY_DYNAMIC_DISPATCH(mass_of_target)(logits, highest, false);
}

RowMass row_mass_reference(std::span<const float> logits, float highest) {
  return HWY_STATIC_DISPATCH(mass_of_target)(logits, highest, true);
}

double row_sum(std::span<const float> weights) { return HWY_DYNAMIC_DISPATCH(sum_of_target)(weights, false); }

double row_sum_reference(std::span<const float> weights) { return HWY_STATIC_DISPATCH(sum_of_target)(weights, true); }

}  // namespace plm
#endif
