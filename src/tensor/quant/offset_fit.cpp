#include "tensor/quant/offset_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tensor/quant/block_fields.h"

namespace plm {
namespace {

/// value = scale * level - offset; neither is negative.
struct Fit {
  float scale = 0;
  float offset = 0;
};

/// Scale and offset of one group, searched for as the reference does.
class GroupSearch {
 public:
  GroupSearch(std::span<const float> values, const OffsetGroups& groups) : values_(values), groups_(groups) {
    float squares = 0;
    for (const float value : values) squares += value * value;
    const float mean = groups.absolute ? 0 : std::sqrt(squares / static_cast<float>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      weights_[i] = mean + std::fabs(values[i]);
      sum_w_ += weights_[i];
      sum_wv_ += weights_[i] * values[i];
    }
  }

  Fit best() {
    const auto [least, most] = std::ranges::minmax_element(values_);
    const auto steps = static_cast<float>(groups_.highest_level);
    low_ = std::min(*least, 0.0F);
    if (!(*most > low_)) return {.scale = 0, .offset = -low_};
    set_levels(steps / (*most - low_));
    float scale = 1 / (steps / (*most - low_));
    float least_error = error_of(scale, low_);
    for (int trial = 0; trial <= groups_.trials; ++trial) {
      // From where the best fit so far begins, which moves.
      set_levels((groups_.first_trial + 0.1F * static_cast<float>(trial) + steps) / (*most - low_));
      const auto [refitted, low] = refit();
      const float error = refitted > 0 ? error_of(refitted, low) : least_error;
      if (!(error < least_error)) continue;
      least_error = error;
      scale = refitted;
      low_ = low;
    }
    return {.scale = scale, .offset = -low_};
  }

 private:
  void set_levels(float inverse_scale) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      levels_[i] = static_cast<float>(round_to_int(inverse_scale * (values_[i] - low_), 0, groups_.highest_level));
    }
  }

  /// Weighted least squares of the numbers on their levels: scale, and where level 0 lies, which is not above 0.
  /// Scale 0: they are all on one level.
  [[nodiscard]] std::pair<float, float> refit() const {
    float sum_q = 0, sum_qq = 0, sum_qv = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      sum_q += weights_[i] * levels_[i];
      sum_qq += weights_[i] * levels_[i] * levels_[i];
      sum_qv += weights_[i] * levels_[i] * values_[i];
    }
    const float spread = sum_w_ * sum_qq - sum_q * sum_q;
    if (!(spread > 0)) return {0, 0};
    const float low = (sum_qq * sum_wv_ - sum_q * sum_qv) / spread;
    if (low > 0) return {sum_qv / sum_qq, 0};
    return {(sum_w_ * sum_qv - sum_wv_ * sum_q) / spread, low};
  }

  [[nodiscard]] float error_of(float scale, float low) const {
    float sum = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const float error = scale * levels_[i] + low - values_[i];
      sum += weights_[i] * (groups_.absolute ? std::fabs(error) : error * error);
    }
    return sum;
  }

  std::span<const float> values_;
  const OffsetGroups& groups_;
  std::array<float, 32> weights_;
  std::array<float, 32> levels_;
  float sum_w_ = 0;
  float sum_wv_ = 0;
  float low_ = 0;  // the number of level 0, not above 0
};

}  // namespace

void fit_to_range(std::span<const float> values, int highest_level, BlockParts& parts) {
  const auto [low, high] = std::ranges::minmax_element(values);
  const float scale = (*high - *low) / static_cast<float>(highest_level);
  set_scale(parts, rounded_to_f16(scale));
  set_offset(parts, rounded_to_f16(*low));
  const float inverse = parts.scale_unit != 0 ? 1 / scale : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parts.levels[i] = static_cast<std::int8_t>(clamp_to_int((values[i] - *low) * inverse + 0.5F, 0, highest_level));
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
    fits[group] = GroupSearch(group_values(group), groups).best();
    largest.scale = std::max(largest.scale, fits[group].scale);
    largest.offset = std::max(largest.offset, fits[group].offset);
  }
  parts.scale_unit = rounded_to_f16(largest.scale / static_cast<float>(groups.highest_scale));
  parts.offset_unit = rounded_to_f16(largest.offset / static_cast<float>(groups.highest_scale));
  const auto rounded = [&](float value, float most) {
    const float inverse = most > 0 ? static_cast<float>(groups.highest_scale) / most : 0;
    return round_to_int(inverse * value, 0, groups.highest_scale);
  };
  std::int8_t* level = parts.levels.data();
  for (std::size_t group = 0; group < group_count; ++group) {
    const int s = rounded(fits[group].scale, largest.scale);
    const int o = rounded(fits[group].offset, largest.offset);
    parts.scales[group] = static_cast<std::int8_t>(s);
    parts.offsets[group] = static_cast<std::int8_t>(-o);
    const float scale = parts.scale_unit * static_cast<float>(s);
    const float offset = parts.offset_unit * static_cast<float>(o);
    for (const float value : group_values(group)) {
      const float place = scale > 0 ? (value + offset) / scale : 0;
      *level++ = static_cast<std::int8_t>(round_to_int(place, 0, groups.highest_level));
    }
  }
}

}  // namespace plm
