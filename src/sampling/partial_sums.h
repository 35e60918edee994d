// The order in which long sums over a row of the vocabulary are added, on every machine the same: in double, in eight
// partial sums by index modulo eight, which are added in a fixed tree. Tested by tests/sampling/test_row_weights.cpp.
#pragma once

#include <array>

namespace plm {

using PartialSums = std::array<double, 8>;

[[nodiscard]] inline double sum_of(const PartialSums& s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

}  // namespace plm
