// Scales and levels for numbers on both sides of zero, without an offset: Q4_0, Q5_0, Q3_K, Q6_K, IQ4_NL and IQ4_XS.
// The number of largest magnitude goes to the lowest level, its sign into the scale: that side has one level more.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#pragma once

#include <array>
#include <cmath>
#include <span>

#include "base/error.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/level_tables.h"

namespace plm {

/// Levels Lowest ... -Lowest - 1. In a search the peak is tried kTrials steps to either side of the lowest one.
template <int Lowest>
struct EvenLevels {
  static constexpr int kLowest = Lowest;
  static constexpr float kTrialStep = 0.1F;
  static constexpr int kTrials = 9;
  static constexpr float kFirstTrial = Lowest;
  static int nearest(float value) { return round_to_int(value, Lowest, -Lowest - 1); }
  static int under(float value, float scale) { return scale != 0 ? nearest(value / scale) : 0; }
  /// The unit that puts the largest scale on the lowest of its levels.
  static float unit(float peak, int lowest_scale) { return 1 / (static_cast<float>(lowest_scale) / peak); }
};

struct Iq4LevelRule {
  static constexpr int kLowest = kIq4Levels.front();
  static constexpr float kTrialStep = -1;
  static constexpr int kTrials = 7;
  static constexpr float kFirstTrial = -kLowest;  // the peak on the other side, which has levels to spare
  static int nearest(float value) { return kIq4Levels[static_cast<std::size_t>(nearest_iq4_code(value))]; }
  static int under(float value, float scale) { return nearest(value * (scale != 0 ? 1 / scale : 0)); }
  static float unit(float peak, int lowest_scale) { return peak / static_cast<float>(lowest_scale); }
};

inline constexpr float kLeastPeak = 1e-15F;  ///< what is smaller throughout a group counts as zero

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
    const int above = clamp_to_int(values[i] * inverse + (0.5F - Levels::kLowest), 0, -2 * Levels::kLowest - 1);
    parts.levels[i] = static_cast<std::int8_t>(above + Levels::kLowest);
  }
}

/// The scale of least squared error, large numbers counting more (their squares), among the refits from several places
/// of the peak around the lowest level.
template <typename Levels>
[[nodiscard]] float fit_scale(std::span<const float> values) {
  const float peak = peak_of(values);
  if (!(std::fabs(peak) >= kLeastPeak)) return 0;
  float best = 0;
  float explained = 0;  // of the weighted sum of squares, by the levels times their best scale
  const auto refit_from = [&](float inverse) {
    float sum_qv = 0, sum_qq = 0;
    for (const float value : values) {
      const auto q = static_cast<float>(Levels::nearest(inverse * value));
      const float weight = value * value;
      sum_qv += weight * value * q;
      sum_qq += weight * q * q;
    }
    if (!(sum_qq > 0 && sum_qv * sum_qv > explained * sum_qq)) return;
    best = sum_qv / sum_qq;
    explained = best * sum_qv;
  };
  refit_from(Levels::kFirstTrial / peak);
  for (int step = -Levels::kTrials; step <= Levels::kTrials; ++step) {
    refit_from((Levels::kLowest - Levels::kTrialStep * static_cast<float>(step)) / peak);
  }
  return best;
}

/// The same by moving one number at a time to the level that explains most, from the nearest ones under the peak, in
/// five rounds at most: for so few levels that their places around a scale are too coarse to search.
template <typename Levels>
[[nodiscard]] float fit_scale_one_by_one(std::span<const float> values) {
  constexpr int kRounds = 5;
  const float peak = peak_of(values);
  if (!(std::fabs(peak) >= kLeastPeak)) return 0;
  std::array<float, kMostPerBlock / kMostGroups> levels;
  PLM_CHECK(values.size() <= levels.size());
  float sum_qv = 0, sum_qq = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    levels[i] = static_cast<float>(Levels::nearest(Levels::kFirstTrial / peak * values[i]));
    sum_qv += values[i] * values[i] * values[i] * levels[i];
    sum_qq += values[i] * values[i] * levels[i] * levels[i];
  }
  bool has_moved = true;
  for (int round = 0; round < kRounds && has_moved; ++round) {
    has_moved = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float weight = values[i] * values[i];
      float others_qv = sum_qv - weight * values[i] * levels[i];
      if (!(others_qv > 0)) continue;
      float others_qq = sum_qq - weight * levels[i] * levels[i];
      const auto level = static_cast<float>(Levels::nearest(values[i] * others_qq / others_qv));
      others_qv += weight * values[i] * level;
      others_qq += weight * level * level;
      const bool is_better = others_qq > 0 && others_qv * others_qv * sum_qq > sum_qv * sum_qv * others_qq;
      if (level == levels[i] || !is_better) continue;
      levels[i] = level;
      sum_qv = others_qv;
      sum_qq = others_qq;
      has_moved = true;
    }
  }
  return sum_qq > 0 ? sum_qv / sum_qq : 0;
}

/// The nearest levels under `scale`.
template <typename Levels>
void round_to_levels(std::span<const float> values, float scale, std::int8_t* levels) {
  for (const float value : values) *levels++ = static_cast<std::int8_t>(Levels::under(value, scale));
}

/// Parts for kMostPerBlock numbers but for the offsets: a scale for each group, and all scales rounded to whole numbers
/// from `lowest_scale` to -lowest_scale - 1 under the unit that puts the largest on the lowest.
template <typename Levels, std::size_t GroupSize, float (*FitScale)(std::span<const float>) = fit_scale<Levels>>
void fit_scaled_groups(const float* values, int lowest_scale, BlockParts& parts) {
  constexpr std::size_t kGroups = kMostPerBlock / GroupSize;
  std::array<float, kGroups> fits;
  for (std::size_t group = 0; group < kGroups; ++group) {
    fits[group] = FitScale({values + group * GroupSize, GroupSize});
  }
  const float peak = peak_of(fits);
  const float unit = peak != 0 ? Levels::unit(peak, lowest_scale) : 0;
  const float inverse = peak != 0 ? static_cast<float>(lowest_scale) / peak : 0;
  parts.scale_unit = rounded_to_f16(unit);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const int scale = round_to_int(inverse * fits[group], lowest_scale, -lowest_scale - 1);
    parts.scales[group] = static_cast<std::int8_t>(scale);
    const std::size_t first = group * GroupSize;
    round_to_levels<Levels>({values + first, GroupSize}, parts.scale_unit * static_cast<float>(scale),
                            &parts.levels[first]);
  }
}

}  // namespace plm
