// The parts that quant blocks are made of: float16 scales at fixed places, and numbers rounded into a few bits.
// Files and memory are little-endian. Tested by tests/tensor/test_quant.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace plm {

static_assert(std::endian::native == std::endian::little, "quant blocks are read in place");

[[nodiscard]] inline std::uint16_t load_bits16(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

inline void store_bits16(std::uint16_t bits, std::byte* to) { std::memcpy(to, &bits, sizeof bits); }

[[nodiscard]] inline float load_f16(const std::byte* from) { return float_from_f16(load_bits16(from)); }

/// Stores `value` as float16 and returns what was stored.
inline float store_f16(float value, std::byte* to) {
  const std::uint16_t bits = f16_from_float(value);
  store_bits16(bits, to);
  return float_from_f16(bits);
}

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

[[nodiscard]] inline unsigned byte_at(const std::byte* from) { return std::to_integer<unsigned>(*from); }

}  // namespace plm
