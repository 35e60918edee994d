// Plain reading of logits: what is known of a row without looking at all of it, and its largest entries.
// Tested by tests/kernels/cpu/test_logits.cpp.
#include "kernels/cpu/logits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/portable_math.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/lanes16.h"

namespace plm::reference {

RowStatistics find_largest(const float* logits, std::size_t count) {
  RowStatistics row{.max = kMinusInfinity, .second = kMinusInfinity};
  for (std::size_t i = 0; i < count; ++i) {
    const float x = logits[i];
    if (std::isnan(x) || x == -kMinusInfinity) row.bad = 1;
    if (x > row.max) {
      row.second = row.max;
      row.max = x;
      row.argmax = static_cast<std::int32_t>(i);
    } else if (x > row.second) {
      row.second = x;
    }
  }
  return row;
}

void finish_statistics(double z, double weighted, RowStatistics& row) {
  const double log_z = log_f64(z);
  row.log_sum_exp = static_cast<float>(row.max + log_z);
  row.entropy = static_cast<float>(log_z - weighted / z);
}

namespace {

void add_sums(const float* logits, std::size_t count, RowStatistics& row) {
  double z = 0;
  double weighted = 0;
  for (std::size_t begin = 0; begin < count; begin += kLogitRun) {
    const float* x = logits + begin;
    const std::size_t n = std::min(kLogitRun, count - begin);
    std::array<float, kLogitRun> e;
    for (std::size_t i = 0; i < n; ++i) e[i] = exp_f32(x[i] - row.max);
    z += lanes16(n, [&](std::size_t i) { return e[i]; });
    // A forbidden token (-inf) has no part.
    weighted += lanes16(n, [&](std::size_t i) { return e[i] > 0 ? e[i] * (x[i] - row.max) : 0.0F; });
  }
  finish_statistics(z, weighted, row);
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
  const std::size_t count = work.logits.columns;
  std::vector<TokenScore> scores(count);
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* logits = work.logits.row(r);
    for (std::size_t i = 0; i < count; ++i) {
      // NaN has no place in an order; `statistics` reports it.
      scores[i] = {static_cast<std::int32_t>(i), std::isnan(logits[i]) ? kMinusInfinity : logits[i]};
    }
    const auto end = scores.begin() + static_cast<std::ptrdiff_t>(work.n);
    std::partial_sort(scores.begin(), end, scores.end(), ranks_before);
    std::copy(scores.begin(), end, work.top + r * work.n);
  }
}

}  // namespace plm::reference
