#include "sampling/row_scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/row_scan.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for every instruction set
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <array>
#include <limits>

#include "base/portable_math.h"

HWY_BEFORE_NAMESPACE();
namespace plm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using PartialSums = std::array<double, 8>;

RowHighest highest_of_target(std::span<const float> logits) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto infinity = hn::Set(d, kInfinity);
  auto highest = hn::Set(d, -kInfinity);
  auto below_infinity = hn::Eq(infinity, infinity);
  std::size_t i = 0;
  for (; i + lanes <= logits.size(); i += lanes) {
    const auto x = hn::LoadU(d, logits.data() + i);
    highest = hn::Max(highest, x);
    below_infinity = hn::And(below_infinity, hn::Lt(x, infinity));  // false for NaN too
  }
  RowHighest result{hn::GetLane(hn::MaxOfLanes(d, highest)), hn::AllTrue(d, below_infinity)};
  for (; i < logits.size(); ++i) {
    result.highest = logits[i] > result.highest ? logits[i] : result.highest;
    result.is_valid = result.is_valid && logits[i] < kInfinity;
  }
  return result;
}

// `indices` has room for one index per logit.
std::size_t indices_of_target(std::span<const float> logits, float threshold, std::uint32_t* indices) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, threshold);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + lanes <= logits.size(); i += lanes) {
    if (hn::AllFalse(d, hn::Ge(hn::LoadU(d, logits.data() + i), low))) continue;
    for (std::size_t j = i; j < i + lanes; ++j) {  // without a branch: hits are neither rare nor regular here
      indices[count] = static_cast<std::uint32_t>(j);
      count += logits[j] >= threshold ? 1 : 0;
    }
  }
  for (; i < logits.size(); ++i) {
    if (logits[i] >= threshold) indices[count++] = static_cast<std::uint32_t>(i);
  }
  return count;
}

// Adds to the partial sums in the order of the indices; the first of `logits` has an index that is a multiple of eight.
inline void weigh_plainly(std::span<const float> logits, float highest, float* weights, PartialSums& sums) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    weights[i] = exp_f32(logits[i] - highest);
    sums[i % sums.size()] += static_cast<double>(weights[i]);
  }
}

// The terms of `row_distance_sum`, as whole products in double.
inline void add_distances_plainly(std::span<const float> logits, float highest, const float* weights,
                                  PartialSums& sums) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (weights[i] > 0) {
      sums[i % sums.size()] += static_cast<double>(weights[i]) * static_cast<double>(highest - logits[i]);
    }
  }
}

// Elsewhere the plain loop does all: it needs eight lanes and a fused multiply-add in hardware to be equal and faster.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

// The steps of exp_f32 for x <= 0.
template <class D, class V>
HWY_INLINE V exp_of_not_positive(D d, V x) {
  namespace pm = portable_math;
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, pm::kRoundMagic);
  const V n = hn::Sub(hn::MulAdd(x, hn::Set(d, pm::kLog2E), magic), magic);
  V r = hn::NegMulAdd(n, hn::Set(d, pm::kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, pm::kLn2Low), r);
  V p = hn::Set(d, pm::kExpCoefficients[0]);
  for (int i = 1; i < 6; ++i) p = hn::MulAdd(p, r, hn::Set(d, pm::kExpCoefficients[i]));
  const V y = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0F));
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(di, 127);
  const V scale1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V scale2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, pm::kExpLowest)), hn::Mul(hn::Mul(y, scale1), scale2));
}

// As many whole groups of eight as there are; returns how many values that is.
std::size_t weigh_in_eights(std::span<const float> logits, float highest, float* weights, PartialSums& sums) {
  const hn::CappedTag<float, 8> d;
  const hn::CappedTag<double, 4> dd;
  const hn::Half<decltype(d)> dh;
  auto low = hn::LoadU(dd, sums.data());
  auto high = hn::LoadU(dd, sums.data() + 4);
  const std::size_t whole = logits.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const auto e = exp_of_not_positive(d, hn::Sub(hn::LoadU(d, logits.data() + i), hn::Set(d, highest)));
    hn::StoreU(e, d, weights + i);
    low = hn::Add(low, hn::PromoteTo(dd, hn::LowerHalf(dh, e)));
    high = hn::Add(high, hn::PromoteTo(dd, hn::UpperHalf(dh, e)));
  }
  hn::StoreU(low, dd, sums.data());
  hn::StoreU(high, dd, sums.data() + 4);
  return whole;
}

std::size_t add_distances_in_eights(std::span<const float> logits, float highest, const float* weights,
                                    PartialSums& sums) {
  const hn::CappedTag<float, 8> d;
  const hn::CappedTag<double, 4> dd;
  const hn::Half<decltype(d)> dh;
  auto low = hn::LoadU(dd, sums.data());
  auto high = hn::LoadU(dd, sums.data() + 4);
  const std::size_t whole = logits.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const auto w = hn::LoadU(d, weights + i);
    const auto distance = hn::Sub(hn::Set(d, highest), hn::LoadU(d, logits.data() + i));
    const auto x = hn::IfThenElseZero(hn::Gt(w, hn::Zero(d)), distance);  // else 0 times infinity
    const auto add = [&](auto sum, auto weight, auto length) {
      return hn::Add(sum, hn::Mul(hn::PromoteTo(dd, weight), hn::PromoteTo(dd, length)));
    };
    low = add(low, hn::LowerHalf(dh, w), hn::LowerHalf(dh, x));
    high = add(high, hn::UpperHalf(dh, w), hn::UpperHalf(dh, x));
  }
  hn::StoreU(low, dd, sums.data());
  hn::StoreU(high, dd, sums.data() + 4);
  return whole;
}

// `indices` has room for one index per key.
std::size_t split_in_eights(std::span<const float> keys, const float* weights, const RowBounds& bounds,
                            std::uint32_t* indices, std::size_t& count, PartialSums& sums) {
  const hn::CappedTag<float, 8> d;
  const hn::CappedTag<double, 4> dd;
  const hn::Half<decltype(d)> dh;
  auto low = hn::LoadU(dd, sums.data());
  auto high = hn::LoadU(dd, sums.data() + 4);
  const std::size_t whole = keys.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const auto distance = hn::Sub(hn::Set(d, bounds.best), hn::LoadU(d, keys.data() + i));
    const auto is_before = hn::Lt(distance, hn::Set(d, bounds.near));
    const auto w = hn::IfThenElseZero(is_before, hn::LoadU(d, weights + i));
    low = hn::Add(low, hn::PromoteTo(dd, hn::LowerHalf(dh, w)));
    high = hn::Add(high, hn::PromoteTo(dd, hn::UpperHalf(dh, w)));
    if (hn::AllFalse(d, hn::AndNot(is_before, hn::Lt(distance, hn::Set(d, bounds.far))))) continue;
    for (std::size_t j = i; j < i + 8; ++j) {
      const float each = bounds.best - keys[j];
      indices[count] = static_cast<std::uint32_t>(j);
      count += each >= bounds.near && each < bounds.far ? 1 : 0;
    }
  }
  hn::StoreU(low, dd, sums.data());
  hn::StoreU(high, dd, sums.data() + 4);
  return whole;
}

#else

std::size_t split_in_eights(std::span<const float>, const float*, const RowBounds&, std::uint32_t*, std::size_t&,
                            PartialSums&) {
  return 0;
}
std::size_t weigh_in_eights(std::span<const float>, float, float*, PartialSums&) { return 0; }
std::size_t add_distances_in_eights(std::span<const float>, float, const float*, PartialSums&) { return 0; }

#endif

double sum_of(const PartialSums& s) { return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); }

double weights_of_target(std::span<const float> logits, float highest, float* weights, bool is_reference) {
  PartialSums s{};
  const std::size_t done = is_reference ? 0 : weigh_in_eights(logits, highest, weights, s);
  weigh_plainly(logits.subspan(done), highest, weights + done, s);
  return sum_of(s);
}

double split_of_target(std::span<const float> keys, const float* weights, const RowBounds& bounds,
                       std::uint32_t* indices, std::size_t& count, bool is_reference) {
  PartialSums s{};
  count = 0;
  const std::size_t done = is_reference ? 0 : split_in_eights(keys, weights, bounds, indices, count, s);
  for (std::size_t i = done; i < keys.size(); ++i) {
    const float distance = bounds.best - keys[i];
    if (distance < bounds.near) s[i % s.size()] += static_cast<double>(weights[i]);
    if (distance >= bounds.near && distance < bounds.far) indices[count++] = static_cast<std::uint32_t>(i);
  }
  return sum_of(s);
}

double distance_sum_of_target(std::span<const float> logits, float highest, const float* weights, bool is_reference) {
  PartialSums s{};
  const std::size_t done = is_reference ? 0 : add_distances_in_eights(logits, highest, weights, s);
  add_distances_plainly(logits.subspan(done), highest, weights + done, s);
  return sum_of(s);
}

}  // namespace plm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {

HWY_EXPORT(highest_of_target);
HWY_EXPORT(indices_of_target);
HWY_EXPORT(weights_of_target);
HWY_EXPORT(distance_sum_of_target);
HWY_EXPORT(split_of_target);

RowHighest row_highest(std::span<const float> logits) { return HWY_DYNAMIC_DISPATCH(highest_of_target)(logits); }

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

double row_split(std::span<const float> keys, std::span<const float> weights, const RowBounds& bounds,
                 std::vector<std::uint32_t>& scratch, std::span<std::uint32_t>& between) {
  if (scratch.size() < keys.size()) scratch.resize(keys.size());
  std::size_t count = 0;
  const double sum = HWY_DYNAMIC_DISPATCH(split_of_target)(keys, weights.data(), bounds, scratch.data(), count, false);
  between = std::span(scratch).first(count);
  return sum;
}

double row_split_reference(std::span<const float> keys, std::span<const float> weights, const RowBounds& bounds,
                           std::vector<std::uint32_t>& scratch, std::span<std::uint32_t>& between) {
  if (scratch.size() < keys.size()) scratch.resize(keys.size());
  std::size_t count = 0;
  const double sum = HWY_STATIC_DISPATCH(split_of_target)(keys, weights.data(), bounds, scratch.data(), count, true);
  between = std::span(scratch).first(count);
  return sum;
}

std::span<std::uint32_t> row_indices_at_least(std::span<const float> logits, float threshold,
                                              std::vector<std::uint32_t>& scratch) {
  if (scratch.size() < logits.size()) scratch.resize(logits.size());
  const std::size_t count = HWY_DYNAMIC_DISPATCH(indices_of_target)(logits, threshold, scratch.data());
  return std::span(scratch).first(count);
}

}  // namespace plm
#endif
