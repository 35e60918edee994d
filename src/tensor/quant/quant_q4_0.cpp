// Q4_0: 32 numbers as a float16 scale d and 4 bits each; value = d * (q - 8).
// Layout: d, then 16 bytes; byte i holds number i in its low half and number i + 16 in its high half.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/scale_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 32;
constexpr std::size_t kBlockBytes = 18;
constexpr std::size_t kLevelsAt = 2;

void take_apart(const std::byte* block, BlockParts& parts) {
  set_scale(parts, load_f16(block));
  set_no_offset(parts);
  const std::span levels = std::span(parts.levels).first(kBlockSize);
  load_plane<4, 16>(block + kLevelsAt, -8, levels);
}

void fit(const float* values, BlockParts& parts) { fit_to_peak<EvenLevels<-8>>({values, kBlockSize}, parts); }

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block);
  const std::span levels = std::span(parts.levels).first(kBlockSize);
  store_plane<4, 16>(levels, -8, 1, block + kLevelsAt);
}

}  // namespace

extern constinit const StorageType quant_q4_0 = {
    .head = {.name = "q4_0",
             .aliases = "Q4_0",
             .summary = "4 bits and a scale for each 32 numbers (4.5 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 2,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kBlockSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kBlockSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0>,
};

}  // namespace plm
