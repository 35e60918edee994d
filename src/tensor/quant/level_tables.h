// The levels of types whose 4-bit codes are not evenly spaced numbers. Kernels look them up too.
// Source: GGML (kvalues_iq4nl; kvalues_mxfp4, twice the numbers of the OCP format E2M1, so that they are whole).
// Tested by tests/tensor/test_quant.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plm {

/// IQ4_NL and IQ4_XS: ascending, closer together around zero, where most weights are.
inline constexpr std::array<std::int8_t, 16> kIq4Levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                           1,    13,   25,  38,  53,  69,  89,  113};

/// MXFP4: the lower three bits ascending, the upper bit a sign.
inline constexpr std::array<std::int8_t, 16> kMxfp4Levels = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Puts levels in the place of codes.
inline void look_up(const std::array<std::int8_t, 16>& table, std::span<std::int8_t> codes) {
  for (std::int8_t& code : codes) code = table[static_cast<std::size_t>(code)];
}

/// The code of the level nearest to `value` in an ascending table; of two as near, the lower one. 0 for NaN.
template <std::size_t Count>
[[nodiscard]] std::int8_t nearest_code(std::span<const std::int8_t, Count> ascending, float value) {
  std::int8_t code = 0;
  for (std::size_t i = 1; i < Count; ++i) {
    if (value > 0.5F * static_cast<float>(ascending[i - 1] + ascending[i])) ++code;
  }
  return code;
}

[[nodiscard]] inline std::int8_t nearest_iq4_code(float value) { return nearest_code(std::span(kIq4Levels), value); }

}  // namespace plm
