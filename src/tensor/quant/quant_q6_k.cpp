// Q6_K: 256 numbers as 16 groups of 16; a group has a signed 8-bit scale s in units of the block's float16 scale d;
// value = (d * s) * (q - 32) with q of 6 bits.
// Layout: 128 bytes with the lower 4 bits of the levels, 64 bytes with the upper 2, 16 scales, d. See group_place.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <array>
#include <cmath>

#include "tensor/quant/block_fields.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 256;
constexpr std::size_t kBlockBytes = 210;
constexpr std::size_t kGroupSize = 16;
constexpr std::size_t kGroups = kBlockSize / kGroupSize;
constexpr std::size_t kUpperAt = 128;
constexpr std::size_t kScalesAt = 192;
constexpr std::size_t kScaleAt = 208;

/// Where the levels of a group lie: number i in bytes lower + i and upper + i, from these bits on.
struct GroupPlace {
  std::size_t lower;
  std::size_t upper;
  unsigned lower_shift;
  unsigned upper_shift;
};

/// A block is two halves of four runs of two groups. The runs of a half share its 64 bytes of lower bits (runs 0 and 1
/// in the low halves of the bytes, 2 and 3 in the high ones) and its 32 bytes of upper bits (two bits for each run).
constexpr GroupPlace group_place(std::size_t group) {
  const std::size_t half = group / 8;
  const std::size_t run = group / 2 % 4;
  const std::size_t first = group % 2 * kGroupSize;
  return {.lower = half * 64 + run % 2 * 32 + first,
          .upper = kUpperAt + half * 32 + first,
          .lower_shift = static_cast<unsigned>(run / 2 * 4),
          .upper_shift = static_cast<unsigned>(run * 2)};
}

void unpack(const std::byte* blocks, float* values, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes) {
    const float d = load_f16(blocks + kScaleAt);
    for (std::size_t group = 0; group < kGroups; ++group, values += kGroupSize) {
      const GroupPlace place = group_place(group);
      const float scale = d * static_cast<float>(static_cast<std::int8_t>(blocks[kScalesAt + group]));
      for (std::size_t i = 0; i < kGroupSize; ++i) {
        const unsigned lower = byte_at(blocks + place.lower + i) >> place.lower_shift & 15U;
        const unsigned upper = byte_at(blocks + place.upper + i) >> place.upper_shift & 3U;
        values[i] = scale * static_cast<float>(static_cast<int>(lower | upper << 4) - 32);
      }
    }
  }
}

int level_of(float value, float inverse_scale) { return clamp_to_int(value * inverse_scale + 32.5F, 0, 63); }

/// The scale of least squared error among the refits from several widths around the group's peak. It has the sign that
/// puts the peak on the side with one level more.
float fit_group(const float* values) {
  float peak = 0;
  for (std::size_t i = 0; i < kGroupSize; ++i) {
    if (std::fabs(values[i]) > std::fabs(peak)) peak = values[i];
  }
  if (peak == 0) return 0;
  float best = 0;
  float most_explained = 0;  // of the sum of squares, by the levels times their best scale
  for (int step = -9; step <= 9; ++step) {
    const float inverse = -(32.0F + 0.1F * static_cast<float>(step)) / peak;
    float sum_qv = 0, sum_qq = 0;
    for (std::size_t i = 0; i < kGroupSize; ++i) {
      const auto q = static_cast<float>(level_of(values[i], inverse) - 32);
      sum_qv += q * values[i];
      sum_qq += q * q;
    }
    if (sum_qv * sum_qv > most_explained * sum_qq) {
      most_explained = sum_qv * sum_qv / sum_qq;
      best = sum_qv / sum_qq;
    }
  }
  return best;
}

void pack_block(const float* values, std::byte* block) {
  std::array<float, kGroups> fits;
  float largest = 0;
  for (std::size_t group = 0; group < kGroups; ++group) {
    fits[group] = fit_group(values + group * kGroupSize);
    if (std::fabs(fits[group]) > std::fabs(largest)) largest = fits[group];
  }
  std::memset(block, 0, kBlockBytes);
  const float d = store_f16(largest / -128, block + kScaleAt);
  for (std::size_t group = 0; group < kGroups; ++group, values += kGroupSize) {
    const int s = d != 0 ? clamp_to_int(std::round(fits[group] / d), -128, 127) : 0;
    block[kScalesAt + group] = static_cast<std::byte>(s);
    const float scale = d * static_cast<float>(s);
    const float inverse = scale != 0 ? 1 / scale : 0;
    const GroupPlace place = group_place(group);
    for (std::size_t i = 0; i < kGroupSize; ++i) {
      const int level = level_of(values[i], inverse);
      block[place.lower + i] |= static_cast<std::byte>((level & 15) << place.lower_shift);
      block[place.upper + i] |= static_cast<std::byte>(level >> 4 << place.upper_shift);
    }
  }
}

void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b) pack_block(values + b * kBlockSize, blocks + b * kBlockBytes);
}

}  // namespace

extern constinit const StorageType quant_q6_k = {
    .head = {.name = "q6_k",
             .aliases = "Q6_K",
             .summary = "6 bits with 8-bit scales for each 16 of 256 numbers (6.6 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 14,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .unpack = unpack,
    .pack = pack,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, kScaleAt>,
};

}  // namespace plm
