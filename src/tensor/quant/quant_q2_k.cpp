// Q2_K: 256 numbers as 16 groups of 16; a group has a 4-bit scale s and a 4-bit offset o, both in units that are
// float16 numbers of the block (d and e); value = (d * s) * q - (e * o) with q of 2 bits. Layout: a byte for each group
// (scale low, offset high), 64 bytes of levels, d, e. Byte 32 * h + i holds numbers i, i + 32, i + 64 and i + 96 of
// half h, from its low bits on. Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/offset_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 256;
constexpr std::size_t kGroupSize = 16;
constexpr std::size_t kGroups = kBlockSize / kGroupSize;
constexpr std::size_t kBlockBytes = 84;
constexpr std::size_t kLevelsAt = 16;
constexpr std::size_t kScaleUnitAt = 80;
constexpr std::size_t kOffsetUnitAt = 82;

void take_apart(const std::byte* block, BlockParts& parts) {
  parts.scale_unit = load_f16(block + kScaleUnitAt);
  parts.offset_unit = load_f16(block + kOffsetUnitAt);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const unsigned both = byte_at(block + group);
    parts.scales[group] = static_cast<std::int8_t>(both & 15U);
    parts.offsets[group] = static_cast<std::int8_t>(-static_cast<int>(both >> 4));
  }
  load_plane<2, 32>(block + kLevelsAt, 0, parts.levels);
}

void fit(const float* values, BlockParts& parts) {
  fit_offset_groups(values,
                    {.group_size = kGroupSize,
                     .highest_level = 3,
                     .highest_scale = 15,
                     .first_trial = -0.5F,
                     .trials = 15,
                     .absolute = true},
                    parts);
}

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block + kScaleUnitAt);
  store_f16(parts.offset_unit, block + kOffsetUnitAt);
  for (std::size_t group = 0; group < kGroups; ++group) {
    block[group] = static_cast<std::byte>(parts.scales[group] | -parts.offsets[group] << 4);
  }
  store_plane<2, 32>(parts.levels, 0, 1, block + kLevelsAt);
}

}  // namespace

extern constinit const StorageType quant_q2_k = {
    .head = {.name = "q2_k",
             .aliases = "Q2_K",
             .summary = "2 bits with 4-bit scales and offsets for each 16 of 256 numbers (2.6 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 10,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kGroupSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kGroupSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, kScaleUnitAt, kOffsetUnitAt>,
};

}  // namespace plm
