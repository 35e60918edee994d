// Activations rounded to whole numbers, part by part of 32 inputs: x = scale * level. Products of levels with the
// levels of a quantised weight are summed exactly, so every instruction set may do it in its own way.
//
// With `most` = 32,639 (int16) or 127 (int8): scale = largest |x| of the part / most, level = x * (most / largest |x|)
// rounded to the nearest whole number, ties to even. 32,639 is 127 * 256 + 127, so that a level is two signed bytes,
// 256 * high + low. A part that holds NaN or infinity has scale NaN; one whose numbers are all below kLeastRounded has
// scale 0. Tested by tests/kernels/cpu/test_integer_linear.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plm {

inline constexpr int kMostInt16 = 32639;
inline constexpr int kMostInt8 = 127;
inline constexpr float kLeastRounded = 1e-30F;
inline constexpr std::size_t kRoundedInputs = 32;  ///< of a part
inline constexpr std::size_t kHalfInputs = 16;     ///< levels are summed in halves of a part
inline constexpr std::size_t kPartHalves = 2;

/// What belongs to the 32 levels of a part.
struct RoundedPart {
  float scale;
  std::int32_t sum;                     ///< of all levels
  std::int32_t half_sums[kPartHalves];  ///< of 16 levels each
  float scaled_sum;                     ///< sum * scale
  float scaled_half_sums[kPartHalves];  ///< half_sums * scale

  /// Of group `group` when a part has `Groups` scales.
  template <std::size_t Groups>
  [[nodiscard]] std::int32_t group_sum(std::size_t group) const {
    return Groups == 2 ? half_sums[group] : sum;
  }
  template <std::size_t Groups>
  [[nodiscard]] float scaled_group_sum(std::size_t group) const {
    return Groups == 2 ? scaled_half_sums[group] : scaled_sum;
  }

  /// Fills in the sums of 32 levels with this scale.
  template <typename Level>
  void set(float new_scale, const Level* levels) {
    scale = new_scale;
    for (std::size_t half = 0; half < kPartHalves; ++half) {
      half_sums[half] = 0;
      for (std::size_t i = 0; i < kHalfInputs; ++i) half_sums[half] += levels[half * kHalfInputs + i];
      scaled_half_sums[half] = static_cast<float>(half_sums[half]) * scale;
    }
    sum = half_sums[0] + half_sums[1];
    scaled_sum = static_cast<float>(sum) * scale;
  }
};

/// [rows] of `part_count` parts. The order of the levels in a part is up to the kernels, which write and read it.
struct RoundedRows {
  std::int16_t* levels;  ///< [rows, part_count, 32]
  RoundedPart* parts;    ///< [rows, part_count]
  int most;              ///< largest level: kMostInt16 or kMostInt8
  std::size_t rows;
  std::size_t part_count;

  [[nodiscard]] std::int16_t* levels_at(std::size_t row, std::size_t part) const {
    return levels + (row * part_count + part) * kRoundedInputs;
  }
  [[nodiscard]] RoundedPart& part_at(std::size_t row, std::size_t part) const { return parts[row * part_count + part]; }

  /// Rows [begin, begin + count).
  [[nodiscard]] RoundedRows row_range(std::size_t begin, std::size_t count) const {
    return {levels_at(begin, 0), parts + begin * part_count, most, count, part_count};
  }

  /// Bytes that `rows` rows need, in one piece of memory aligned to 64 bytes; `at` lays them out there.
  [[nodiscard]] static std::size_t bytes(std::size_t rows, std::size_t part_count) {
    return rows * part_count * (kRoundedInputs * sizeof(std::int16_t) + sizeof(RoundedPart));
  }
  [[nodiscard]] static RoundedRows at(std::byte* memory, int most, std::size_t rows, std::size_t part_count) {
    auto* levels = reinterpret_cast<std::int16_t*>(memory);
    auto* parts = reinterpret_cast<RoundedPart*>(levels + rows * part_count * kRoundedInputs);
    return {levels, parts, most, rows, part_count};
  }
};

}  // namespace plm
