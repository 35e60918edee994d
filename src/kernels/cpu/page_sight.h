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
  [[nodiscard]] std::size_t count() const { return end - begin; }
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

/// Shows cells [first, last) of the page.
inline void show_range(PageSight& sight, std::size_t first, std::size_t last) {
  for (std::size_t word = 0; word < sight.words.size(); ++word) {
    const std::size_t from = std::clamp(first, word * 64, word * 64 + 64) - word * 64;
    const std::size_t to = std::clamp(last, word * 64, word * 64 + 64) - word * 64;
    if (from < to) sight.words[word] |= ~std::uint64_t{0} >> (64 - (to - from)) << from;
  }
}

/// Shows the cells whose bits are set among the 64 that begin at cell `first`, which may lie before the page.
inline void show_bits(PageSight& sight, std::uint64_t bits, std::ptrdiff_t first) {
  for (std::size_t word = 0; word < sight.words.size(); ++word) {
    const std::ptrdiff_t shift = first - static_cast<std::ptrdiff_t>(word * 64);
    if (shift >= 0 && shift < 64) sight.words[word] |= bits << shift;
    if (shift < 0 && shift > -64) sight.words[word] |= bits >> -shift;
  }
}

[[nodiscard]] inline PageSight page_sight(const RowSight& row, std::span<const std::uint64_t> own_bits,
                                          std::size_t page) {
  PageSight sight;
  const std::size_t first = page * kPageCells;
  const auto cut = [&](std::size_t slot) { return std::clamp(slot, first, first + kPageCells) - first; };
  show_range(sight, cut(row.begin), cut(row.end));
  const std::size_t before = first > row.own_begin ? (first - row.own_begin) / 64 * 64 : 0;  // bits of earlier pages
  for (std::size_t bit = before; bit < row.own_count && row.own_begin + bit < first + kPageCells; bit += 64) {
    std::uint64_t bits = own_bits[row.own_bits_word + bit / 64];
    if (row.own_count - bit < 64) bits &= (std::uint64_t{1} << (row.own_count - bit)) - 1;
    show_bits(sight, bits, static_cast<std::ptrdiff_t>(row.own_begin + bit) - static_cast<std::ptrdiff_t>(first));
  }
  return sight;
}

}  // namespace plm
