// Q4_K: 256 numbers as 8 groups of 32; a group has a 6-bit scale s and a 6-bit offset o, both in units that are float16
// numbers of the block (d and e); value = (d * s) * q - (e * o) with q of 4 bits.
// Layout: d, e, 12 bytes of scales and offsets, 128 bytes of levels. Byte 32 * p + i holds number i of group 2p in its
// low half and of group 2p + 1 in its high half.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/offset_fit.h"
#include "tensor/quant/six_bit_scales.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 256;
constexpr std::size_t kGroupSize = 32;
constexpr std::size_t kBlockBytes = 144;
constexpr std::size_t kOffsetUnitAt = 2;
constexpr std::size_t kScalesAt = 4;
constexpr std::size_t kLevelsAt = 16;

void take_apart(const std::byte* block, BlockParts& parts) {
  parts.scale_unit = load_f16(block);
  parts.offset_unit = load_f16(block + kOffsetUnitAt);
  load_six_bit_scales(block + kScalesAt, parts);
  load_plane<4, 32>(block + kLevelsAt, 0, parts.levels);
}

void fit(const float* values, BlockParts& parts) {
  fit_offset_groups(
      values, {.group_size = kGroupSize, .highest_level = 15, .highest_scale = 63, .first_trial = -1, .trials = 20},
      parts);
}

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block);
  store_f16(parts.offset_unit, block + kOffsetUnitAt);
  store_six_bit_scales(parts, block + kScalesAt);
  store_plane<4, 32>(parts.levels, 0, 1, block + kLevelsAt);
}

}  // namespace

extern constinit const StorageType quant_q4_k = {
    .head = {.name = "q4_k",
             .aliases = "Q4_K",
             .summary = "4 bits with 6-bit scales and offsets for each 32 of 256 numbers (4.5 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 12,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kGroupSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kGroupSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0, kOffsetUnitAt>,
};

}  // namespace plm
