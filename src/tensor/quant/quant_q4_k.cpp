// Q4_K: 256 numbers as 8 groups of 32; a group has a 6-bit scale s and a 6-bit offset o, both in units that are float16
// numbers of the block (d and e); value = (d * s) * q - (e * o) with q of 4 bits.
// Layout: d, e, 12 bytes of scales and offsets, 128 bytes of levels. Byte 32 * p + i holds number i of group 2p in its
// low half and of group 2p + 1 in its high half.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <algorithm>
#include <array>

#include "tensor/quant/block_fields.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 256;
constexpr std::size_t kBlockBytes = 144;
constexpr std::size_t kGroupSize = 32;
constexpr std::size_t kGroups = kBlockSize / kGroupSize;
constexpr std::size_t kScalesAt = 4;
constexpr std::size_t kLevelsAt = 16;

struct GroupScale {
  unsigned scale;   ///< 0 to 63
  unsigned offset;  ///< 0 to 63
};

/// Bytes 0-3 and 4-7 hold scales and offsets of groups 0-3 in their low 6 bits, and in their high 2 bits the upper bits
/// of groups 4-7, whose lower 4 bits lie in bytes 8-11 (scale low, offset high).
GroupScale read_group_scale(const std::byte* fields, std::size_t group) {
  if (group < 4) return {byte_at(fields + group) & 63U, byte_at(fields + 4 + group) & 63U};
  const unsigned lower = byte_at(fields + 4 + group);
  return {(lower & 15U) | (byte_at(fields + group - 4) >> 6 << 4), (lower >> 4) | (byte_at(fields + group) >> 6 << 4)};
}

/// The inverse; `fields` must be zero before the first group is written.
void write_group_scale(GroupScale value, std::byte* fields, std::size_t group) {
  if (group < 4) {
    fields[group] |= static_cast<std::byte>(value.scale);
    fields[4 + group] |= static_cast<std::byte>(value.offset);
  } else {
    fields[4 + group] = static_cast<std::byte>((value.scale & 15U) | (value.offset & 15U) << 4);
    fields[group - 4] |= static_cast<std::byte>(value.scale >> 4 << 6);
    fields[group] |= static_cast<std::byte>(value.offset >> 4 << 6);
  }
}

void unpack(const std::byte* blocks, float* values, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes, values += kBlockSize) {
    const float d = load_f16(blocks);
    const float e = load_f16(blocks + 2);
    for (std::size_t group = 0; group < kGroups; ++group) {
      const GroupScale field = read_group_scale(blocks + kScalesAt, group);
      const float scale = d * static_cast<float>(field.scale);
      const float offset = e * static_cast<float>(field.offset);
      const std::byte* levels = blocks + kLevelsAt + group / 2 * kGroupSize;
      const unsigned shift = group % 2 * 4;
      for (std::size_t i = 0; i < kGroupSize; ++i) {
        values[group * kGroupSize + i] = scale * static_cast<float>(byte_at(levels + i) >> shift & 15U) - offset;
      }
    }
  }
}

int level_of(float value, float inverse_scale, float offset) {
  return clamp_to_int((value + offset) * inverse_scale + 0.5F, 0, 15);
}

struct Fit {
  float scale = 0;   ///< not negative
  float offset = 0;  ///< not negative
};

/// Least squares of the group's numbers on their levels under `trial`, with an offset that is not negative.
Fit refit(const float* values, const Fit& trial) {
  const float inverse = 1 / trial.scale;
  constexpr float kCount = kGroupSize;
  float sum_q = 0, sum_qq = 0, sum_v = 0, sum_qv = 0;
  for (std::size_t i = 0; i < kGroupSize; ++i) {
    const auto q = static_cast<float>(level_of(values[i], inverse, trial.offset));
    sum_q += q;
    sum_qq += q * q;
    sum_v += values[i];
    sum_qv += q * values[i];
  }
  const float spread = kCount * sum_qq - sum_q * sum_q;
  if (spread <= 0) return trial;  // all on one level
  Fit fit;
  fit.scale = (kCount * sum_qv - sum_q * sum_v) / spread;
  fit.offset = (fit.scale * sum_q - sum_v) / kCount;
  if (fit.offset < 0) fit = {.scale = sum_qv / sum_qq, .offset = 0};
  return fit;
}

float squared_error(const float* values, const Fit& fit) {
  const float inverse = 1 / fit.scale;
  float sum = 0;
  for (std::size_t i = 0; i < kGroupSize; ++i) {
    const float q = static_cast<float>(level_of(values[i], inverse, fit.offset));
    const float error = fit.scale * q - fit.offset - values[i];
    sum += error * error;
  }
  return sum;
}

/// The best scale and offset found by refitting from several widths around the group's full range.
Fit fit_group(const float* values) {
  const auto [least, most] = std::minmax_element(values, values + kGroupSize);
  const float low = std::min(*least, 0.0F);
  const float range = *most - low;
  Fit best{.scale = range / 15, .offset = -low};
  if (!(best.scale > 0)) return {.scale = 0, .offset = -low};
  float least_error = squared_error(values, best);
  for (int step = 0; step <= 20; ++step) {
    const Fit trial{.scale = range / (14.0F + 0.1F * static_cast<float>(step)), .offset = -low};
    const Fit fit = refit(values, trial);
    if (!(fit.scale > 0)) continue;
    const float error = squared_error(values, fit);
    if (error < least_error) {
      least_error = error;
      best = fit;
    }
  }
  return best;
}

void pack_block(const float* values, std::byte* block) {
  std::array<Fit, kGroups> fits;
  Fit largest;
  for (std::size_t group = 0; group < kGroups; ++group) {
    fits[group] = fit_group(values + group * kGroupSize);
    largest.scale = std::max(largest.scale, fits[group].scale);
    largest.offset = std::max(largest.offset, fits[group].offset);
  }
  std::fill_n(block, kBlockBytes, std::byte{0});
  const float d = store_f16(largest.scale / 63, block);
  const float e = store_f16(largest.offset / 63, block + 2);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const int s = d > 0 ? clamp_to_int(fits[group].scale / d + 0.5F, 0, 63) : 0;
    const int o = e > 0 ? clamp_to_int(fits[group].offset / e + 0.5F, 0, 63) : 0;
    write_group_scale({static_cast<unsigned>(s), static_cast<unsigned>(o)}, block + kScalesAt, group);
    const float scale = d * static_cast<float>(s);
    const float offset = e * static_cast<float>(o);
    const float inverse = scale > 0 ? 1 / scale : 0;
    std::byte* levels = block + kLevelsAt + group / 2 * kGroupSize;
    for (std::size_t i = 0; i < kGroupSize; ++i) {
      levels[i] |= static_cast<std::byte>(level_of(values[group * kGroupSize + i], inverse, offset) << group % 2 * 4);
    }
  }
}

void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b) pack_block(values + b * kBlockSize, blocks + b * kBlockBytes);
}

}  // namespace

extern constinit const StorageType quant_q4_k = {
    .head = {.name = "q4_k",
             .aliases = "Q4_K",
             .summary = "4 bits with 6-bit scales and offsets for each 32 of 256 numbers (4.5 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 12,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .unpack = unpack,
    .pack = pack,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0, 2>,
};

}  // namespace plm
