// lanes16, the tree in which the device adds many numbers (defined in kernels/device.h): sixteen running sums, whatever
// the vector width of the machine, so that the bits of a sum are the same everywhere. Tested by
// tests/kernels/cpu/test_lanes16.cpp.
#pragma once

#include <array>
#include <cstddef>

namespace plm {

/// lanes16 of value(0) ... value(count - 1).
template <typename Value>
[[nodiscard]] float lanes16(std::size_t count, Value value) {
  std::array<float, 16> lanes{};
  for (std::size_t i = 0; i < count; ++i) lanes[i % 16] += value(i);
  for (std::size_t width = 8; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

}  // namespace plm
