// Levels of few bits, as all quant blocks hold them: in planes. `Run` numbers lie side by side in the lowest bits of as
// many bytes, the next `Run` numbers in the bits above, and so on; full bytes are followed by others. A level of three,
// five or six bits has its upper bits in a second plane, where they have the weight of the bits below.
// The inner loops go over neighbouring bytes, because a whole model passes through here when it is loaded.
// Tested by tests/tensor/test_quant.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plm {

/// Adds `weight` times the number of a plane to every level.
template <unsigned Bits, std::size_t Run>
void add_plane(const std::byte* plane, int weight, std::span<std::int8_t> levels) {
  constexpr unsigned kMask = (1U << Bits) - 1;
  for (std::size_t first = 0; first < levels.size(); plane += Run) {
    for (unsigned shift = 0; shift < 8; shift += Bits, first += Run) {
      for (std::size_t i = 0; i < Run; ++i) {
        const unsigned bits = std::to_integer<unsigned>(plane[i]) >> shift & kMask;
        levels[first + i] = static_cast<std::int8_t>(levels[first + i] + weight * static_cast<int>(bits));
      }
    }
  }
}

/// Sets every level to `lowest` and the number of a plane.
template <unsigned Bits, std::size_t Run>
void load_plane(const std::byte* plane, std::int8_t lowest, std::span<std::int8_t> levels) {
  std::ranges::fill(levels, lowest);
  add_plane<Bits, Run>(plane, 1, levels);
}

/// The inverse of both: stores the bits of (level - lowest) from the one of this weight on.
template <unsigned Bits, std::size_t Run>
void store_plane(std::span<const std::int8_t> levels, int lowest, int weight, std::byte* plane) {
  constexpr int kMask = (1 << Bits) - 1;
  for (std::size_t first = 0; first < levels.size(); plane += Run) {
    std::fill_n(plane, Run, std::byte{0});
    for (unsigned shift = 0; shift < 8; shift += Bits, first += Run) {
      for (std::size_t i = 0; i < Run; ++i) {
        plane[i] |= static_cast<std::byte>(((levels[first + i] - lowest) / weight & kMask) << shift);
      }
    }
  }
}

}  // namespace plm
