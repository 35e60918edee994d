// Scales and levels for numbers on both sides of zero, without an offset: Q4_0, Q5_0, Q3_K, Q6_K, IQ4_NL and IQ4_XS.
// The number of largest magnitude goes to the lowest level, its sign into the scale: that side has one level more.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#pragma once

#include <array>
#include <cmath>
#include <span>

#include "tensor/quant/block_fields.h"
#include "tensor/quant/level_tables.h"

namespace plm {

/// Levels Lowest ... -Lowest - 1. In a search the peak is tried kTrials steps to either side of the lowest one.
template <int Lowest>
struct EvenLevels {
  static constexpr int kLowest = Lowest;
  static constexpr float kTrialStep = 0.1F;
  static constexpr int kTrials = 9;
  static int nearest(float value) { return clamp_to_int(value + (0.5F - Lowest), 0, -2 * Lowest - 1) + Lowest; }
};

struct Iq4LevelRule {
  static constexpr int kLowest = kIq4Levels.front();
  static constexpr float kTrialStep = 1;
  static constexpr int kTrials = 7;
  static int nearest(float value) { return kIq4Levels[static_cast<std::size_t>(nearest_iq4_code(value))]; }
};

/// The number of largest magnitude; 0 if there is none but NaN.
[[nodiscard]] inline float peak_of(std::span<const float> values) {
  float peak = 0;
  for (const float value : values) {
    if (std::fabs(value) > std::fabs(peak)) peak = value;
  }
  return peak;
}

/// Parts of one group but for the offset: the scale that puts the peak on the lowest level, and the levels under it.
template <typename Levels>
void fit_to_peak(std::span<const float> values, BlockParts& parts) {
  const float scale = peak_of(values) / Levels::kLowest;
  set_scale(parts, rounded_to_f16(scale));
  const float inverse = parts.scale_unit != 0 ? 1 / scale : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parts.levels[i] = static_cast<std::int8_t>(Levels::nearest(values[i] * inverse));
  }
}

/// The scale of least squared error among the refits from several places of the peak around the lowest level.
template <typename Levels>
[[nodiscard]] float fit_scale(std::span<const float> values) {
  const float peak = peak_of(values);
  if (peak == 0) return 0;
  float best = 0;
  float most_explained = 0;  // of the sum of squares, by the levels times their best scale
  for (int step = -Levels::kTrials; step <= Levels::kTrials; ++step) {
    const float inverse = (Levels::kLowest - Levels::kTrialStep * static_cast<float>(step)) / peak;
    float sum_qv = 0, sum_qq = 0;
    for (const float value : values) {
      const auto q = static_cast<float>(Levels::nearest(value * inverse));
      sum_qv += q * value;
      sum_qq += q * q;
    }
    if (sum_qv * sum_qv > most_explained * sum_qq) {
      most_explained = sum_qv * sum_qv / sum_qq;
      best = sum_qv / sum_qq;
    }
  }
  return best;
}

/// The nearest levels under `scale`.
template <typename Levels>
void round_to_levels(std::span<const float> values, float scale, std::int8_t* levels) {
  const float inverse = scale != 0 ? 1 / scale : 0;
  for (const float value : values) *levels++ = static_cast<std::int8_t>(Levels::nearest(value * inverse));
}

/// Parts for kMostPerBlock numbers but for the offsets: a scale for each group, and all scales rounded to whole numbers
/// from `lowest_scale` to -lowest_scale - 1 under the unit that puts the largest on the lowest.
template <typename Levels, std::size_t GroupSize>
void fit_scaled_groups(const float* values, int lowest_scale, BlockParts& parts) {
  constexpr std::size_t kGroups = kMostPerBlock / GroupSize;
  std::array<float, kGroups> fits;
  for (std::size_t group = 0; group < kGroups; ++group) {
    fits[group] = fit_scale<Levels>({values + group * GroupSize, GroupSize});
  }
  const float unit = rounded_to_f16(peak_of(fits) / static_cast<float>(lowest_scale));
  parts.scale_unit = unit;
  for (std::size_t group = 0; group < kGroups; ++group) {
    const int scale = unit != 0 ? clamp_to_int(std::round(fits[group] / unit), lowest_scale, -lowest_scale - 1) : 0;
    parts.scales[group] = static_cast<std::int8_t>(scale);
    const std::size_t first = group * GroupSize;
    round_to_levels<Levels>({values + first, GroupSize}, unit * static_cast<float>(scale), &parts.levels[first]);
  }
}

}  // namespace plm
