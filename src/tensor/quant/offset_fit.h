// Scales, offsets and levels for numbers between a minimum and a maximum: Q4_1, Q5_1, Q2_K, Q4_K and Q5_K.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/storage_type.h"

namespace plm {

/// Parts of one group: the smallest number becomes level 0, the largest `highest_level`.
void fit_to_range(std::span<const float> values, int highest_level, BlockParts& parts);

/// What a block of groups with offsets can hold: levels, scales and offsets from 0 to the highest.
struct OffsetGroups {
  std::size_t group_size;
  int highest_level;
  int highest_scale;  ///< and highest offset
};

/// Parts for kMostPerBlock numbers: scale and offset searched for in every group, and rounded under the block's units.
void fit_offset_groups(const float* values, const OffsetGroups& groups, BlockParts& parts);

}  // namespace plm
