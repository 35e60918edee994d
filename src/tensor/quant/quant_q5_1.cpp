// Q5_1: 32 numbers as a float16 scale d, a float16 minimum m and 5 bits each; value = d * q + m.
// Layout: d, m, 32 upper bits in order, then 16 bytes of lower bits; byte i holds number i in its low half and number
// i + 16 in its high half.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/offset_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 32;
constexpr std::size_t kBlockBytes = 24;
constexpr std::size_t kMinimumAt = 2;
constexpr std::size_t kUpperAt = 4;
constexpr std::size_t kLowerAt = 8;

void take_apart(const std::byte* block, BlockParts& parts) {
  set_scale(parts, load_f16(block));
  set_offset(parts, load_f16(block + kMinimumAt));
  const std::span levels = std::span(parts.levels).first(kBlockSize);
  load_plane<4, 16>(block + kLowerAt, 0, levels);
  add_plane<1, 1>(block + kUpperAt, 16, levels);
}

void fit(const float* values, BlockParts& parts) { fit_to_range({values, kBlockSize}, 31, parts); }

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block);
  store_f16(parts.offset_unit, block + kMinimumAt);
  const std::span levels = std::span(parts.levels).first(kBlockSize);
  store_plane<4, 16>(levels, 0, 1, block + kLowerAt);
  store_plane<1, 1>(levels, 0, 16, block + kUpperAt);
}

}  // namespace

extern constinit const StorageType quant_q5_1 = {
    .head = {.name = "q5_1",
             .aliases = "Q5_1",
             .summary = "5 bits, a scale and a minimum for each 32 numbers (6 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 7,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kBlockSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kBlockSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0, kMinimumAt>,
};

}  // namespace plm
