#include "tensor/quant/offset_fit.h"

#include <algorithm>
#include <array>

#include "tensor/quant/block_fields.h"

namespace plm {
namespace {

/// value = scale * level - offset; neither is negative.
struct Fit {
  float scale = 0;
  float offset = 0;
};

int level_of(float value, const Fit& fit, float inverse_scale, int highest) {
  return clamp_to_int((value + fit.offset) * inverse_scale + 0.5F, 0, highest);
}

/// Least squares of the numbers on their levels under `trial`, with an offset that is not negative.
Fit refit(std::span<const float> values, const Fit& trial, int highest) {
  const float inverse = 1 / trial.scale;
  const auto count = static_cast<float>(values.size());
  float sum_q = 0, sum_qq = 0, sum_v = 0, sum_qv = 0;
  for (const float value : values) {
    const auto q = static_cast<float>(level_of(value, trial, inverse, highest));
    sum_q += q;
    sum_qq += q * q;
    sum_v += value;
    sum_qv += q * value;
  }
  const float spread = count * sum_qq - sum_q * sum_q;
  if (spread <= 0) return trial;  // all on one level
  Fit fit;
  fit.scale = (count * sum_qv - sum_q * sum_v) / spread;
  fit.offset = (fit.scale * sum_q - sum_v) / count;
  if (fit.offset < 0) fit = {.scale = sum_qv / sum_qq, .offset = 0};
  return fit;
}

float squared_error(std::span<const float> values, const Fit& fit, int highest) {
  const float inverse = 1 / fit.scale;
  float sum = 0;
  for (const float value : values) {
    const auto q = static_cast<float>(level_of(value, fit, inverse, highest));
    const float error = fit.scale * q - fit.offset - value;
    sum += error * error;
  }
  return sum;
}

/// The best scale and offset found by refitting from several widths around the group's full range.
Fit fit_group(std::span<const float> values, int highest) {
  const auto [least, most] = std::ranges::minmax_element(values);
  const float low = std::min(*least, 0.0F);
  const float range = *most - low;
  const auto steps = static_cast<float>(highest);
  Fit best{.scale = range / steps, .offset = -low};
  if (!(best.scale > 0)) return {.scale = 0, .offset = -low};
  float least_error = squared_error(values, best, highest);
  for (int step = 0; step <= 20; ++step) {
    const Fit trial{.scale = range / (steps - 1 + 0.1F * static_cast<float>(step)), .offset = -low};
    const Fit fit = refit(values, trial, highest);
    if (!(fit.scale > 0)) continue;
    const float error = squared_error(values, fit, highest);
    if (error < least_error) {
      least_error = error;
      best = fit;
    }
  }
  return best;
}

}  // namespace

void fit_to_range(std::span<const float> values, int highest_level, BlockParts& parts) {
  const auto [low, high] = std::ranges::minmax_element(values);
  const float scale = (*high - *low) / static_cast<float>(highest_level);
  set_scale(parts, rounded_to_f16(scale));
  set_offset(parts, rounded_to_f16(*low));
  const float inverse = parts.scale_unit != 0 ? 1 / scale : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parts.levels[i] =
        static_cast<std::int8_t>(level_of(values[i], {.scale = scale, .offset = -*low}, inverse, highest_level));
  }
}

void fit_offset_groups(const float* values, const OffsetGroups& groups, BlockParts& parts) {
  std::array<Fit, kMostGroups> fits;
  const std::size_t group_count = kMostPerBlock / groups.group_size;
  const auto group_values = [&](std::size_t group) {
    return std::span(values + group * groups.group_size, groups.group_size);
  };
  Fit largest;
  for (std::size_t group = 0; group < group_count; ++group) {
    fits[group] = fit_group(group_values(group), groups.highest_level);
    largest.scale = std::max(largest.scale, fits[group].scale);
    largest.offset = std::max(largest.offset, fits[group].offset);
  }
  parts.scale_unit = rounded_to_f16(largest.scale / static_cast<float>(groups.highest_scale));
  parts.offset_unit = rounded_to_f16(largest.offset / static_cast<float>(groups.highest_scale));
  const auto rounded = [&](float value, float unit) {
    return unit > 0 ? clamp_to_int(value / unit + 0.5F, 0, groups.highest_scale) : 0;
  };
  std::int8_t* level = parts.levels.data();
  for (std::size_t group = 0; group < group_count; ++group) {
    const int s = rounded(fits[group].scale, parts.scale_unit);
    const int o = rounded(fits[group].offset, parts.offset_unit);
    parts.scales[group] = static_cast<std::int8_t>(s);
    parts.offsets[group] = static_cast<std::int8_t>(-o);
    const Fit fit{.scale = parts.scale_unit * static_cast<float>(s),
                  .offset = parts.offset_unit * static_cast<float>(o)};
    const float inverse = fit.scale > 0 ? 1 / fit.scale : 0;
    for (const float value : group_values(group)) {
      *level++ = static_cast<std::int8_t>(level_of(value, fit, inverse, groups.highest_level));
    }
  }
}

}  // namespace plm
