// The fields that quant blocks are made of, but for the levels (bit_planes.h), and StorageType's functions over many
// blocks from those over the parts of one. Files and memory are little-endian. Tested by tests/tensor/test_quant.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "tensor/storage_type.h"

namespace plm {

static_assert(std::endian::native == std::endian::little, "quant blocks are read in place");

[[nodiscard]] inline std::uint16_t load_bits16(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

inline void store_bits16(std::uint16_t bits, std::byte* to) { std::memcpy(to, &bits, sizeof bits); }

[[nodiscard]] inline float load_f16(const std::byte* from) { return float_from_f16(load_bits16(from)); }

inline void store_f16(float value, std::byte* to) { store_bits16(f16_from_float(value), to); }

[[nodiscard]] inline float rounded_to_f16(float value) { return float_from_f16(f16_from_float(value)); }

inline constexpr std::uint16_t kF16Exponent = 0x7c00;
inline constexpr std::uint16_t kBf16Exponent = 0x7f80;

/// Whether none of the 16-bit numbers at byte `Offsets` of every block has an exponent of all ones (infinite or NaN).
/// Without a branch per block: it runs over whole files when a model is loaded.
template <std::uint16_t Exponent, std::size_t BlockBytes, std::size_t... Offsets>
[[nodiscard]] bool exponents_are_finite(const std::byte* blocks, std::size_t block_count) {
  constexpr unsigned kLowestBit = Exponent & -Exponent;
  std::uint16_t carried = 0;
  for (std::size_t i = 0; i < block_count; ++i) {
    const std::byte* block = blocks + i * BlockBytes;
    // Adding one to the exponent reaches the sign bit only from all ones.
    ((carried = static_cast<std::uint16_t>(carried | ((load_bits16(block + Offsets) & Exponent) + kLowestBit))), ...);
  }
  return (carried & 0x8000U) == 0;
}

/// `value` cut to [low, high] and towards zero; NaN gives low, so that no number whatever is undefined behaviour.
[[nodiscard]] inline int clamp_to_int(float value, int low, int high) {
  const float above = value > static_cast<float>(low) ? value : static_cast<float>(low);
  return static_cast<int>(above < static_cast<float>(high) ? above : static_cast<float>(high));
}

/// The nearest whole number in [low, high], of two equally near ones the even one; NaN gives low.
[[nodiscard]] inline int round_to_int(float value, int low, int high) {
  constexpr float kNoFraction = 12582912.0F;  // 1.5 * 2^23: a float beside it has no bits for one
  const float above = value > static_cast<float>(low) ? value : static_cast<float>(low);
  const float within = above < static_cast<float>(high) ? above : static_cast<float>(high);
  return static_cast<int>(within + kNoFraction - kNoFraction);
}

[[nodiscard]] inline unsigned byte_at(const std::byte* from) { return std::to_integer<unsigned>(*from); }

/// For types whose scale is a number of the block, not of a group.
inline void set_scale(BlockParts& parts, float scale) {
  parts.scale_unit = scale;
  parts.scales.fill(1);
}

/// For types whose offset is a number of the block.
inline void set_offset(BlockParts& parts, float offset) {
  parts.offset_unit = offset;
  parts.offsets.fill(1);
}

/// For types without offsets.
inline void set_no_offset(BlockParts& parts) {
  parts.offset_unit = 0;
  parts.offsets.fill(0);
}

/// StorageType::unpack from StorageType::take_apart.
template <void (*TakeApart)(const std::byte*, BlockParts&), std::size_t BlockSize, std::size_t BlockBytes,
          std::size_t GroupSize>
void unpack_by_parts(const std::byte* blocks, float* values, std::size_t block_count) {
  BlockParts parts;
  for (std::size_t b = 0; b < block_count; ++b, values += BlockSize) {
    TakeApart(blocks + b * BlockBytes, parts);
    for (std::size_t group = 0; group < BlockSize / GroupSize; ++group) {
      const float scale = parts.scale_unit * static_cast<float>(parts.scales[group]);
      const float offset = parts.offset_unit * static_cast<float>(parts.offsets[group]);
      for (std::size_t i = group * GroupSize; i < (group + 1) * GroupSize; ++i) {
        values[i] = scale * static_cast<float>(parts.levels[i]) + offset;
      }
    }
  }
}

/// StorageType::pack from a function that finds parts for the numbers of one block and one that stores parts.
template <void (*Fit)(const float*, BlockParts&), void (*Store)(const BlockParts&, std::byte*), std::size_t BlockSize,
          std::size_t BlockBytes>
void pack_by_parts(const float* values, std::byte* blocks, std::size_t block_count) {
  BlockParts parts;
  for (std::size_t b = 0; b < block_count; ++b) {
    Fit(values + b * BlockSize, parts);
    Store(parts, blocks + b * BlockBytes);
  }
}

}  // namespace plm
