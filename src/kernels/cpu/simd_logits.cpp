// Vectorised reading of logits. The sums follow reference_logits.cpp; maxima need no order.
// Tested by tests/kernels/cpu/test_logits.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_logits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/logits.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
namespace {

using reference::kLogitRun;
using reference::kMinusInfinity;

/// max, second, argmax and bad: the two largest of each lane first, the rest of the row and the lanes one by one.
RowStatistics find_largest(const float* logits, std::size_t count) {
  const FloatTag d;
  const Floatv lowest = hn::Set(d, kMinusInfinity);
  Floatv first = lowest, second = lowest;
  auto good = hn::Eq(lowest, lowest);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floatv x = load(logits + i);
    good = hn::And(good, hn::Lt(x, hn::Inf(d)));  // false for NaN
    second = hn::Max(second, hn::Min(first, x));
    first = hn::Max(first, x);
  }
  HWY_ALIGN float lanes[2 * kLanes];
  hn::Store(first, d, lanes);
  hn::Store(second, d, lanes + kLanes);
  RowStatistics row = reference::find_largest(lanes, 2 * kLanes);
  const RowStatistics rest = reference::find_largest(logits + i, count - i);
  row.second = std::max(std::min(row.max, rest.max), std::max(row.second, rest.second));
  row.max = std::max(row.max, rest.max);
  row.bad = rest.bad != 0 || !hn::AllTrue(d, good) ? 1 : 0;
  const auto* place = std::find(logits, logits + count, row.max);
  row.argmax = place != logits + count ? static_cast<std::int32_t>(place - logits) : 0;
  return row;
}

void add_sums(const float* logits, std::size_t count, RowStatistics& row) {
  const FloatTag d;
  const Floatv max = hn::Set(d, row.max);
  double z = 0;
  double weighted = 0;
  for (std::size_t begin = 0; begin < count; begin += kLogitRun) {
    const float* x = logits + begin;
    const std::size_t n = std::min(kLogitRun, count - begin);
    HWY_ALIGN float e[kLogitRun];
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::Store(exp_vector(hn::Sub(load(x + i), max)), d, e + i);
    for (; i < n; ++i) e[i] = exp_f32(x[i] - row.max);
    z += lanes16_of(
        n, [&](std::size_t j) HWY_ATTR { return load(e + j); }, [&](std::size_t j) { return e[j]; });
    weighted += lanes16_of(
        n,
        [&](std::size_t j) HWY_ATTR {
          const Floatv part = hn::Mul(load(e + j), hn::Sub(load(x + j), max));
          return hn::IfThenElseZero(hn::Gt(load(e + j), hn::Zero(d)), part);
        },
        [&](std::size_t j) { return e[j] > 0 ? e[j] * (x[j] - row.max) : 0.0F; });
  }
  reference::finish_statistics(z, weighted, row);
}

/// Puts the entry at `place` of a row among the best if it ranks before the worst of them. `best` is a heap, worst
/// first.
HWY_INLINE void offer(const float* logits, std::size_t place, std::span<TokenScore> best) {
  const TokenScore entry{static_cast<std::int32_t>(place), logits[place]};
  if (!(entry.logit > best.front().logit)) return;  // on a tie the smaller id, already there, wins
  std::pop_heap(best.begin(), best.end(), reference::ranks_before);
  best.back() = entry;
  std::push_heap(best.begin(), best.end(), reference::ranks_before);
}

/// The best of a row, in order.
void find_top(const float* logits, std::size_t count, std::span<TokenScore> best) {
  const std::size_t n = best.size();
  for (std::size_t i = 0; i < n; ++i) {
    best[i] = {static_cast<std::int32_t>(i), std::isnan(logits[i]) ? kMinusInfinity : logits[i]};
  }
  std::make_heap(best.begin(), best.end(), reference::ranks_before);
  std::size_t i = n;
  for (; i + kLanes <= count; i += kLanes) {
    const Floatv worst = hn::Set(FloatTag(), best.front().logit);
    if (hn::AllFalse(FloatTag(), hn::Gt(load(logits + i), worst))) continue;
    for (std::size_t lane = 0; lane < kLanes; ++lane) offer(logits, i + lane, best);
  }
  for (; i < count; ++i) offer(logits, i, best);
  std::sort_heap(best.begin(), best.end(), reference::ranks_before);
}

}  // namespace

void statistics(const StatisticsWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    RowStatistics row = find_largest(work.logits.row(r), work.logits.columns);
    row.log_sum_exp = row.max;
    if (row.bad == 0 && row.max > kMinusInfinity) add_sums(work.logits.row(r), work.logits.columns, row);
    work.statistics[r] = row;
  }
}

void top_n(const TopNWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end && work.n > 0; ++r) {
    find_top(work.logits.row(r), work.logits.columns, {work.top + r * work.n, work.n});
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(statistics);
HWY_EXPORT(top_n);
void set_simd_logits(KernelTable& table) {
  table.statistics = &HWY_DYNAMIC_DISPATCH(statistics);
  table.top_n = &HWY_DYNAMIC_DISPATCH(top_n);
}
}  // namespace plm
#endif
