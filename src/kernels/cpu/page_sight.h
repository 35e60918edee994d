// Which cells of one page a row sees: RowSight (kernels/device.h) cut into pages, as 256 bits.
// Tested by tests/kernels/cpu/test_page_sight.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/device.h"

namespace plm {

/// Bit c of word c / 64 says whether cell c of the page is visible.
struct PageSight {
  std::array<std::uint64_t, kPageCells / 64> words{};

  [[nodiscard]] bool sees(std::size_t cell) const { return (words[cell / 64] >> (cell % 64) & 1U) != 0; }
  [[nodiscard]] bool sees_nothing() const {
    return std::all_of(words.begin(), words.end(), [](std::uint64_t word) { return word == 0; });
  }
  void show(std::size_t cell) { words[cell / 64] |= std::uint64_t{1} << (cell % 64); }
};

/// Pages [begin, end) outside which a row sees nothing.
struct PageRange {
  std::size_t begin, end;
};

[[nodiscard]] inline PageRange pages_in_sight(const RowSight& row) {
  std::size_t first = row.begin;
  std::size_t last = std::max(row.begin, row.end);
  if (row.own_count > 0) {
    first = row.begin < row.end ? std::min(row.begin, row.own_begin) : row.own_begin;
    last = std::max<std::size_t>(row.end, std::size_t{row.own_begin} + row.own_count);
  }
  return {first / kPageCells, (last + kPageCells - 1) / kPageCells};
}

[[nodiscard]] inline PageSight page_sight(const RowSight& row, std::span<const std::uint64_t> own_bits,
                                          std::size_t page) {
  PageSight sight;
  const std::size_t first = page * kPageCells;
  const auto cut = [&](std::size_t slot) { return std::clamp(slot, first, first + kPageCells) - first; };
  for (std::size_t cell = cut(row.begin); cell < cut(row.end); ++cell) sight.show(cell);
  const std::size_t own_end = std::size_t{row.own_begin} + row.own_count;
  for (std::size_t cell = cut(row.own_begin); cell < cut(own_end); ++cell) {
    const std::size_t bit = first + cell - row.own_begin;
    if ((own_bits[row.own_bits_word + bit / 64] >> (bit % 64) & 1U) != 0) sight.show(cell);
  }
  return sight;
}

}  // namespace plm
