// Scales, offsets and levels for numbers between a minimum and a maximum: Q4_1, Q5_1, Q2_K, Q4_K and Q5_K.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/storage_type.h"

namespace plm {

/// Parts of one group: the smallest number becomes level 0, the largest `highest_level`.
void fit_to_range(std::span<const float> values, int highest_level, BlockParts& parts);

/// What a block of groups with offsets can hold (levels, scales and offsets from 0 to the highest), and how the
/// format's reference looks for scale and offset of a group: it refits from widths of the range of `first_trial` levels
/// more than the highest, a tenth of a level more, and so on.
struct OffsetGroups {
  std::size_t group_size;
  int highest_level;
  int highest_scale;  ///< and highest offset
  float first_trial;
  int trials;             ///< after the first
  bool absolute = false;  ///< errors count as they are and by the number's size; else squared, and small numbers more
};

/// Parts for kMostPerBlock numbers: scale and offset searched for in every group, and rounded under the block's units.
/// Byte for byte the reference's choice, its habits included (quant_golden.safetensors).
void fit_offset_groups(const float* values, const OffsetGroups& groups, BlockParts& parts);

}  // namespace plm
