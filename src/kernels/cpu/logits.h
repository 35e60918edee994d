// What the plain and the vectorised reading of logits share.
#pragma once

#include <cstddef>
#include <limits>

#include "kernels/device.h"

namespace plm::reference {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr std::size_t kLogitRun = 256;  ///< logits whose sum is taken in float32

/// max, second, argmax and bad of `count` logits.
[[nodiscard]] RowStatistics find_largest(const float* logits, std::size_t count);

/// log_sum_exp and entropy from max, z = sum of e^(x - max) and weighted = sum of e^(x - max) * (x - max).
void finish_statistics(double z, double weighted, RowStatistics& row);

/// Whether `a` comes before `b`: larger logit, then smaller id.
[[nodiscard]] inline bool ranks_before(const TokenScore& a, const TokenScore& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

}  // namespace plm::reference
