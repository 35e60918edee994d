#include "sampling/row_scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/row_scan.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for every instruction set
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sampling/partial_sums.h"

HWY_BEFORE_NAMESPACE();
namespace plm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
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

// Elsewhere the plain loop does all: it needs eight lanes and a fused multiply-add in hardware to be equal and faster.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

// For each mask of eight lanes, the lanes that are set, the lowest first, in four bits each. (Highway's own Compress
// takes such a table too, but GCC copies it to the stack at every call.)
constexpr std::array<std::uint32_t, 256> kLanesOfMask = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t mask = 0; mask < table.size(); ++mask) {
    for (std::uint32_t lane = 0, count = 0; lane < 8; ++lane) {
      if ((mask >> lane & 1U) != 0) table[mask] |= lane << (4 * count++);
    }
  }
  return table;
}();

// Which of eight lanes are set, and how they are moved together: writes eight values, of which the first `count` count.
struct Compression {
  std::uint8_t bits = 0;
  std::size_t count = 0;

  template <class D, class M>
  HWY_INLINE Compression(D d, M mask) {
    (void)hn::StoreMaskBits(d, mask, &bits);
    count = hwy::PopCount(std::uint64_t{bits});
  }
  template <class V, typename T>
  HWY_INLINE void store(V v, T* to) const {
    const hn::CappedTag<T, 8> d;
    const hn::CappedTag<std::int32_t, 8> di;
    alignas(32) static constexpr std::int32_t kShifts[] = {0, 4, 8, 12, 16, 20, 24, 28};
    const auto packed = hn::Set(di, static_cast<std::int32_t>(kLanesOfMask[bits]));
    const auto lanes = hn::And(hn::Shr(packed, hn::Load(di, kShifts)), hn::Set(di, 7));
    hn::StoreU(hn::TableLookupLanes(v, hn::IndicesFromVec(d, lanes)), d, to);
  }
};

// The indices from `first` on.
HWY_INLINE auto eight_indices(std::size_t first) {
  const hn::CappedTag<std::int32_t, 8> di;
  alignas(32) static constexpr std::int32_t kSteps[] = {0, 1, 2, 3, 4, 5, 6, 7};
  return hn::Add(hn::Load(di, kSteps), hn::Set(di, static_cast<std::int32_t>(first)));
}

// Of eight logits from `begin` on.
template <class Hit>
HWY_INLINE std::size_t append_hits(std::span<const float> logits, std::size_t begin, const Hit& hit,
                                   std::uint32_t* indices) {
  const hn::CappedTag<float, 8> d;
  const hn::CappedTag<std::uint32_t, 8> du;
  const Compression hits(d, hit(d, hn::LoadU(d, logits.data() + begin)));
  hits.store(hn::BitCast(du, eight_indices(begin)), indices);
  return hits.count;
}

// `indices` has room for one index per logit.
std::size_t split_in_eights(std::span<const float> logits, const float* weights, const RowBounds& bounds,
                            std::uint32_t* indices, std::size_t& count, PartialSums& sums) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::CappedTag<double, 4> dd;
  const hn::Half<decltype(d)> dh;
  auto low = hn::LoadU(dd, sums.data());
  auto high = hn::LoadU(dd, sums.data() + 4);
  const std::size_t whole = logits.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const auto distance = hn::Abs(hn::Sub(hn::Set(d, bounds.center), hn::LoadU(d, logits.data() + i)));
    const auto is_before = hn::Lt(distance, hn::Set(d, bounds.near));
    const auto w = hn::IfThenElseZero(is_before, hn::LoadU(d, weights + i));
    low = hn::Add(low, hn::PromoteTo(dd, hn::LowerHalf(dh, w)));
    high = hn::Add(high, hn::PromoteTo(dd, hn::UpperHalf(dh, w)));
    const auto is_between = hn::AndNot(is_before, hn::Lt(distance, hn::Set(d, bounds.far)));
    const Compression between(d, is_between);
    between.store(hn::BitCast(du, eight_indices(i)), indices + count);
    count += between.count;
  }
  hn::StoreU(low, dd, sums.data());
  hn::StoreU(high, dd, sums.data() + 4);
  return whole;
}

// Eight are read before up to eight are written, no further on, so a row may be moved in place.
std::size_t keep_in_eights(const RowMove& row, const RowEnd& end, RowKept& kept) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto center = hn::Set(d, end.center);
  const auto end_logit = hn::Set(d, end.logit);
  const auto end_distance = hn::Abs(hn::Sub(center, end_logit));
  const auto end_id = hn::Set(di, end.id);
  auto highest = hn::Set(d, kept.highest);
  const std::size_t whole = row.logits.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const auto logit = hn::LoadU(d, row.logits.data() + i);
    const auto distance = hn::Abs(hn::Sub(center, logit));
    if (hn::AllFalse(d, hn::Le(distance, end_distance))) continue;
    const auto id = row.ids != nullptr ? hn::LoadU(di, row.ids + i) : eight_indices(i);
    const auto is_equal = hn::And(hn::Eq(logit, end_logit), hn::RebindMask(d, hn::Not(hn::Gt(id, end_id))));
    const auto is_no_later = hn::Or(hn::Gt(logit, end_logit), is_equal);
    const auto is_kept = hn::Or(hn::Lt(distance, end_distance), hn::And(hn::Eq(distance, end_distance), is_no_later));
    highest = hn::IfThenElse(is_kept, hn::Max(highest, logit), highest);
    const auto weight = hn::LoadU(d, row.weights + i);
    const Compression staying(d, is_kept);
    staying.store(weight, row.weights + kept.count);
    staying.store(id, row.kept_ids + kept.count);
    staying.store(logit, row.kept_logits + kept.count);
    kept.count += staying.count;
  }
  kept.highest = hn::GetLane(hn::MaxOfLanes(d, highest));
  return whole;
}

#else

// Without a branch: hits are neither rare nor regular where this is called.
template <class Hit>
inline std::size_t append_hits(std::span<const float> logits, std::size_t begin, const Hit& hit,
                               std::uint32_t* indices) {
  std::size_t count = 0;
  for (std::size_t i = begin; i < begin + 8; ++i) {
    indices[count] = static_cast<std::uint32_t>(i);
    count += hit(logits[i]) ? 1 : 0;
  }
  return count;
}

std::size_t split_in_eights(std::span<const float>, const float*, const RowBounds&, std::uint32_t*, std::size_t&,
                            PartialSums&) {
  return 0;
}
std::size_t keep_in_eights(const RowMove&, const RowEnd&, RowKept&) { return 0; }

#endif

RowPlace place_of_target(std::span<const float> logits, float logit) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, logit);
  const auto added = [&](auto counts, auto mask) {
    return hn::Sub(counts, hn::BitCast(di, hn::VecFromMask(d, mask)));  // a set lane is -1
  };
  auto above = hn::Zero(di), equal = above;
  std::size_t i = 0;
  for (; i + lanes <= logits.size(); i += lanes) {
    const auto x = hn::LoadU(d, logits.data() + i);
    above = added(above, hn::Gt(x, one));
    equal = added(equal, hn::Eq(x, one));
  }
  const auto sum = [&](auto counts) { return static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(di, counts))); };
  RowPlace place{.above = sum(above), .equal = sum(equal)};
  for (; i < logits.size(); ++i) {
    place.above += logits[i] > logit ? 1 : 0;
    place.equal += logits[i] == logit ? 1 : 0;
  }
  return place;
}

// What is picked out of a row: one logit, or a vector of them.
struct IsAtLeast {
  float threshold;
  bool operator()(float x) const { return x >= threshold; }
  template <class D, class V>
  HWY_INLINE auto operator()(D d, V x) const {
    return hn::Ge(x, hn::Set(d, threshold));
  }
};
struct IsNear {
  float center, far;
  bool operator()(float x) const { return std::abs(center - x) < far; }
  template <class D, class V>
  HWY_INLINE auto operator()(D d, V x) const {
    return hn::Lt(hn::Abs(hn::Sub(hn::Set(d, center), x)), hn::Set(d, far));
  }
};

// `indices` has room for one index per logit.
template <class Hit>
HWY_INLINE std::size_t pick_out(std::span<const float> logits, const Hit& hit, std::uint32_t* indices) {
  const hn::ScalableTag<float> d;
  constexpr std::size_t kEight = 8;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t step = 2 * std::max(lanes, kEight);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + step <= logits.size(); i += step) {  // most of a row is not picked, mostly
    auto any = hit(d, hn::LoadU(d, logits.data() + i));
    for (std::size_t j = i + lanes; j < i + step; j += lanes) {
      any = hn::Or(any, hit(d, hn::LoadU(d, logits.data() + j)));
    }
    if (hn::AllFalse(d, any)) continue;
    for (std::size_t j = i; j < i + step; j += kEight) count += append_hits(logits, j, hit, indices + count);
  }
  for (; i < logits.size(); ++i) {
    if (hit(logits[i])) indices[count++] = static_cast<std::uint32_t>(i);
  }
  return count;
}

std::size_t indices_of_target(std::span<const float> logits, float threshold, std::uint32_t* indices) {
  return pick_out(logits, IsAtLeast{threshold}, indices);
}

std::size_t near_indices_of_target(std::span<const float> logits, float center, float far, std::uint32_t* indices) {
  return pick_out(logits, IsNear{center, far}, indices);
}

double split_of_target(std::span<const float> logits, const float* weights, const RowBounds& bounds,
                       std::uint32_t* indices, std::size_t& count, bool is_reference) {
  PartialSums s{};
  count = 0;
  const std::size_t done = is_reference ? 0 : split_in_eights(logits, weights, bounds, indices, count, s);
  for (std::size_t i = done; i < logits.size(); ++i) {
    const float distance = std::abs(bounds.center - logits[i]);
    if (distance < bounds.near) s[i % s.size()] += static_cast<double>(weights[i]);
    if (distance >= bounds.near && distance < bounds.far) indices[count++] = static_cast<std::uint32_t>(i);
  }
  return sum_of(s);
}

RowKept keep_of_target(const RowMove& row, const RowEnd& end, bool is_reference) {
  RowKept kept{.count = 0, .highest = -std::numeric_limits<float>::infinity()};
  const float end_distance = std::abs(end.center - end.logit);
  for (std::size_t i = is_reference ? 0 : keep_in_eights(row, end, kept); i < row.logits.size(); ++i) {
    const float logit = row.logits[i];
    const float distance = std::abs(end.center - logit);
    const std::int32_t id = row.ids != nullptr ? row.ids[i] : static_cast<std::int32_t>(i);
    const bool is_no_later = logit > end.logit || (logit == end.logit && id <= end.id);
    if (!(distance < end_distance || (distance == end_distance && is_no_later))) continue;
    row.weights[kept.count] = row.weights[i];
    row.kept_ids[kept.count] = id;
    row.kept_logits[kept.count++] = logit;
    kept.highest = logit > kept.highest ? logit : kept.highest;
  }
  return kept;
}

}  // namespace plm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {

HWY_EXPORT(highest_of_target);
HWY_EXPORT(place_of_target);
HWY_EXPORT(indices_of_target);
HWY_EXPORT(near_indices_of_target);
HWY_EXPORT(split_of_target);
HWY_EXPORT(keep_of_target);

RowHighest row_highest(std::span<const float> logits) { return HWY_DYNAMIC_DISPATCH(highest_of_target)(logits); }

RowPlace row_place(std::span<const float> logits, float logit) {
  return HWY_DYNAMIC_DISPATCH(place_of_target)(logits, logit);
}

RowKept row_keep(const RowMove& row, const RowEnd& end) {
  return HWY_DYNAMIC_DISPATCH(keep_of_target)(row, end, false);
}

RowKept row_keep_reference(const RowMove& row, const RowEnd& end) {
  return HWY_STATIC_DISPATCH(keep_of_target)(row, end, true);
}

double row_split(std::span<const float> logits, std::span<const float> weights, const RowBounds& bounds,
                 std::vector<std::uint32_t>& scratch, std::span<std::uint32_t>& between) {
  if (scratch.size() < logits.size()) scratch.resize(logits.size());
  std::size_t count = 0;
  const double sum =
      HWY_DYNAMIC_DISPATCH(split_of_target)(logits, weights.data(), bounds, scratch.data(), count, false);
  between = std::span(scratch).first(count);
  return sum;
}

double row_split_reference(std::span<const float> logits, std::span<const float> weights, const RowBounds& bounds,
                           std::vector<std::uint32_t>& scratch, std::span<std::uint32_t>& between) {
  if (scratch.size() < logits.size()) scratch.resize(logits.size());
  std::size_t count = 0;
  const double sum = HWY_STATIC_DISPATCH(split_of_target)(logits, weights.data(), bounds, scratch.data(), count, true);
  between = std::span(scratch).first(count);
  return sum;
}

std::span<std::uint32_t> row_indices_at_least(std::span<const float> logits, float threshold,
                                              std::vector<std::uint32_t>& scratch) {
  if (scratch.size() < logits.size()) scratch.resize(logits.size());
  const std::size_t count = HWY_DYNAMIC_DISPATCH(indices_of_target)(logits, threshold, scratch.data());
  return std::span(scratch).first(count);
}

std::span<std::uint32_t> row_indices_near(std::span<const float> logits, float center, float far,
                                          std::vector<std::uint32_t>& scratch) {
  if (scratch.size() < logits.size()) scratch.resize(logits.size());
  const std::size_t count = HWY_DYNAMIC_DISPATCH(near_indices_of_target)(logits, center, far, scratch.data());
  return std::span(scratch).first(count);
}

}  // namespace plm
#endif
