#include "kernels/cpu/expert_lists.h"

#include <algorithm>

namespace plm {

void ExpertLists::reserve(std::size_t rows, std::size_t used, std::size_t experts) {
  rows_.resize(std::max(rows_.size(), rows * used));
  places_.resize(std::max(places_.size(), rows * used));
  begins_.resize(std::max(begins_.size(), experts + 1));
}

void ExpertLists::fill(const Floats& routing, std::size_t experts) {
  used_ = routing.columns / 2;
  experts_ = experts;
  const auto expert_of = [&](std::size_t row, std::size_t choice) {
    return static_cast<std::size_t>(routing.row(row)[choice]);
  };
  std::fill_n(begins_.begin(), experts + 1, 0U);
  for (std::size_t r = 0; r < routing.rows; ++r) {
    for (std::size_t c = 0; c < used_; ++c) ++begins_[expert_of(r, c)];
  }
  std::uint32_t end = 0;
  for (std::size_t e = 0; e <= experts; ++e) begins_[e] = end += begins_[e];
  // From the back, each expert's end moves down to its begin.
  for (std::size_t r = routing.rows; r-- > 0;) {
    for (std::size_t c = used_; c-- > 0;) {
      const std::uint32_t place = --begins_[expert_of(r, c)];
      rows_[place] = static_cast<std::uint32_t>(r);
      places_[r * used_ + c] = place;
    }
  }
}

}  // namespace plm
