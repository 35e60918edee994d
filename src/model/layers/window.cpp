#include "model/layers/window.h"

#include <algorithm>

namespace plm {

void WindowedTable::take(const PassRows& rows) {
  sights_.assign(rows.table.rows.begin(), rows.table.rows.end());
  bits_.assign(rows.table.own_bits.begin(), rows.table.own_bits.end());
  pages_ = rows.table.pages;
  for (std::size_t r = 0; r < sights_.size(); ++r) {
    RowSight& sight = sights_[r];
    // A span that ends before the row's own bits holds stored cells, whose slots are their positions; else it leads up
    // to the row itself.
    const std::uint32_t newest = sight.own_count > 0 ? rows.positions[r] : sight.slot;
    const std::uint32_t oldest = newest >= window_ ? newest - window_ + 1 : 0;
    sight.begin = std::min(std::max(sight.begin, oldest), std::max(sight.begin, sight.end));
    if (ahead_ < kAllAhead - newest) sight.end = std::min(sight.end, std::max(sight.begin, newest + ahead_ + 1));
    if (sight.own_count > 0) cut_bits(rows, r);
  }
}

void WindowedTable::cut_bits(const PassRows& rows, std::size_t row) {
  const RowSight& sight = sights_[row];
  PLM_CHECK(sight.slot >= sight.own_begin && sight.slot - sight.own_begin <= row);
  const std::size_t first = row - (sight.slot - sight.own_begin);  // row of the first of the own slots
  PLM_CHECK(first + sight.own_count <= sights_.size());
  for (std::uint32_t i = 0; i < sight.own_count; ++i) {
    PLM_CHECK(sights_[first + i].sequence == sight.sequence && sights_[first + i].slot == sight.own_begin + i);
    const std::uint64_t there = rows.positions[first + i], here = rows.positions[row];
    const bool is_within = there + window_ > here && (ahead_ == kAllAhead || there <= here + ahead_);
    if (!is_within) bits_[sight.own_bits_word + i / 64] &= ~(std::uint64_t{1} << (i % 64));
  }
}

}  // namespace plm
