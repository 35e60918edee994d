// Q6_K: 256 numbers as 16 groups of 16; a group has a signed 8-bit scale s in units of the block's float16 scale d;
// value = (d * s) * (q - 32) with q of 6 bits.
// Layout: 128 bytes with the lower 4 bits of the levels (byte 64 * h + i: numbers i and i + 64 of half h), 64 bytes
// with the upper 2 (byte 32 * h + i: numbers i, i + 32, i + 64 and i + 96 of half h), 16 scales, d. All from the low
// bits on. Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/scale_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 256;
constexpr std::size_t kGroupSize = 16;
constexpr std::size_t kGroups = kBlockSize / kGroupSize;
constexpr std::size_t kBlockBytes = 210;
constexpr std::size_t kLowerAt = 0;
constexpr std::size_t kUpperAt = 128;
constexpr std::size_t kScalesAt = 192;
constexpr std::size_t kScaleUnitAt = 208;

void take_apart(const std::byte* block, BlockParts& parts) {
  parts.scale_unit = load_f16(block + kScaleUnitAt);
  set_no_offset(parts);
  std::memcpy(parts.scales.data(), block + kScalesAt, kGroups);
  load_plane<4, 64>(block + kLowerAt, -32, parts.levels);
  add_plane<2, 32>(block + kUpperAt, 16, parts.levels);
}

void fit(const float* values, BlockParts& parts) {
  fit_scaled_groups<EvenLevels<-32>, kGroupSize>(values, -128, parts);
}

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block + kScaleUnitAt);
  std::memcpy(block + kScalesAt, parts.scales.data(), kGroups);
  store_plane<4, 64>(parts.levels, -32, 1, block + kLowerAt);
  store_plane<2, 32>(parts.levels, -32, 16, block + kUpperAt);
}

}  // namespace

extern constinit const StorageType quant_q6_k = {
    .head = {.name = "q6_k",
             .aliases = "Q6_K",
             .summary = "6 bits with 8-bit scales for each 16 of 256 numbers (6.6 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 14,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kGroupSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kGroupSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, kScaleUnitAt>,
};

}  // namespace plm
