// IQ4_XS: 256 numbers as 8 groups of 32; a group has a 6-bit scale s in units of the block's float16 scale d;
// value = (d * (s - 32)) * level, a number's level given by a 4-bit code (level_tables.h).
// Layout: d, 2 bytes with the upper 2 bits of the scales in order, 4 bytes with their lower 4, 128 bytes of codes. Byte
// 16 * g + i holds number i of group g in its low half and number i + 16 in its high half.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <array>

#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/scale_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 256;
constexpr std::size_t kGroupSize = 32;
constexpr std::size_t kGroups = kBlockSize / kGroupSize;
constexpr std::size_t kBlockBytes = 136;
constexpr std::size_t kUpperScalesAt = 2;
constexpr std::size_t kLowerScalesAt = 4;
constexpr std::size_t kCodesAt = 8;

void take_apart(const std::byte* block, BlockParts& parts) {
  parts.scale_unit = load_f16(block);
  set_no_offset(parts);
  const std::span scales = std::span(parts.scales).first(kGroups);
  load_plane<4, 1>(block + kLowerScalesAt, -32, scales);
  add_plane<2, 1>(block + kUpperScalesAt, 16, scales);
  load_plane<4, 16>(block + kCodesAt, 0, parts.levels);
  look_up(kIq4Levels, parts.levels);
}

void fit(const float* values, BlockParts& parts) { fit_scaled_groups<Iq4LevelRule, kGroupSize>(values, -32, parts); }

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block);
  const std::span scales = std::span(parts.scales).first(kGroups);
  store_plane<4, 1>(scales, -32, 1, block + kLowerScalesAt);
  store_plane<2, 1>(scales, -32, 16, block + kUpperScalesAt);
  std::array<std::int8_t, kBlockSize> codes;
  for (std::size_t i = 0; i < kBlockSize; ++i) codes[i] = nearest_iq4_code(parts.levels[i]);
  store_plane<4, 16>(codes, 0, 1, block + kCodesAt);
}

}  // namespace

extern constinit const StorageType quant_iq4_xs = {
    .head = {.name = "iq4_xs",
             .aliases = "IQ4_XS",
             .summary = "4 bits for uneven levels with 6-bit scales for each 32 of 256 numbers (4.25 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 23,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kGroupSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kGroupSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0>,
};

}  // namespace plm
