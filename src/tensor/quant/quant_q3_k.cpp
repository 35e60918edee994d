// Q3_K: 256 numbers as 16 groups of 16; a group has a 6-bit scale s in units of the block's float16 scale d;
// value = (d * (s - 32)) * (q - 4) with q of 3 bits.
// Layout: 32 bytes with the upper bit of the levels (bit r of byte i: number 32 * r + i), 64 bytes with the lower 2
// (byte 32 * h + i: numbers i, i + 32, i + 64 and i + 96 of half h), 8 bytes with the lower 4 bits of the scales (byte
// i: groups i and i + 8), 4 bytes with their upper 2 (byte i: groups i, i + 4, i + 8 and i + 12), d. All from the low
// bits on. Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/scale_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 256;
constexpr std::size_t kGroupSize = 16;
constexpr std::size_t kBlockBytes = 110;
constexpr std::size_t kUpperAt = 0;
constexpr std::size_t kLowerAt = 32;
constexpr std::size_t kLowerScalesAt = 96;
constexpr std::size_t kUpperScalesAt = 104;
constexpr std::size_t kScaleUnitAt = 108;

void take_apart(const std::byte* block, BlockParts& parts) {
  parts.scale_unit = load_f16(block + kScaleUnitAt);
  set_no_offset(parts);
  load_plane<4, 8>(block + kLowerScalesAt, -32, parts.scales);
  add_plane<2, 4>(block + kUpperScalesAt, 16, parts.scales);
  load_plane<2, 32>(block + kLowerAt, -4, parts.levels);
  add_plane<1, 32>(block + kUpperAt, 4, parts.levels);
}

void fit(const float* values, BlockParts& parts) {
  using Levels = EvenLevels<-4>;
  fit_scaled_groups<Levels, kGroupSize, fit_scale_one_by_one<Levels>>(values, -32, parts);
}

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block + kScaleUnitAt);
  store_plane<4, 8>(parts.scales, -32, 1, block + kLowerScalesAt);
  store_plane<2, 4>(parts.scales, -32, 16, block + kUpperScalesAt);
  store_plane<2, 32>(parts.levels, -4, 1, block + kLowerAt);
  store_plane<1, 32>(parts.levels, -4, 4, block + kUpperAt);
}

}  // namespace

extern constinit const StorageType quant_q3_k = {
    .head = {.name = "q3_k",
             .aliases = "Q3_K",
             .summary = "3 bits with 6-bit scales for each 16 of 256 numbers (3.4 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 11,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kGroupSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kGroupSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, kScaleUnitAt>,
};

}  // namespace plm
