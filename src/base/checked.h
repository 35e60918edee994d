// Arithmetic on numbers that a file states: every operation says whether it overflowed.
// Sizes read from outside are never combined with plain operators. Tested by tests/base/test_checked.cpp.
#pragma once

#include <cstdint>
#include <optional>

namespace plm {

[[nodiscard]] inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

[[nodiscard]] inline std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Rounds `value` up to a multiple of `step` (> 0).
[[nodiscard]] inline std::optional<std::uint64_t> checked_round_up(std::uint64_t value, std::uint64_t step) {
  const std::uint64_t rest = value % step;
  return rest == 0 ? value : checked_add(value, step - rest);
}

}  // namespace plm
