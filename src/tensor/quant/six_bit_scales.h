// The 12 bytes in which Q4_K and Q5_K hold a 6-bit scale and a 6-bit offset for each of 8 groups.
// Bytes 0-3 and 4-7 hold scales and offsets of groups 0-3 in their low 6 bits, and in their high 2 bits the upper bits
// of groups 4-7, whose lower 4 bits lie in bytes 8-11 (scale low, offset high). Tested by tests/tensor/test_quant.cpp.
#pragma once

#include "tensor/quant/block_fields.h"

namespace plm {

inline void load_six_bit_scales(const std::byte* fields, BlockParts& parts) {
  for (std::size_t group = 0; group < 4; ++group) {
    const unsigned scale = byte_at(fields + group);
    const unsigned offset = byte_at(fields + 4 + group);
    const unsigned lower = byte_at(fields + 8 + group);
    parts.scales[group] = static_cast<std::int8_t>(scale & 63U);
    parts.offsets[group] = static_cast<std::int8_t>(-static_cast<int>(offset & 63U));
    parts.scales[group + 4] = static_cast<std::int8_t>((lower & 15U) | scale >> 6 << 4);
    parts.offsets[group + 4] = static_cast<std::int8_t>(-static_cast<int>(lower >> 4 | offset >> 6 << 4));
  }
}

inline void store_six_bit_scales(const BlockParts& parts, std::byte* fields) {
  for (std::size_t group = 0; group < 4; ++group) {
    const int scale = parts.scales[group + 4];
    const int offset = -parts.offsets[group + 4];
    fields[group] = static_cast<std::byte>(parts.scales[group] | scale >> 4 << 6);
    fields[4 + group] = static_cast<std::byte>(-parts.offsets[group] | offset >> 4 << 6);
    fields[8 + group] = static_cast<std::byte>((scale & 15) | (offset & 15) << 4);
  }
}

}  // namespace plm
