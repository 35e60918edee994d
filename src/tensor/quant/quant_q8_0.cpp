// Q8_0: 32 numbers as a float16 scale d and a signed byte each; value = d * q. Layout: d, then 32 bytes.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <cmath>

#include "tensor/quant/block_fields.h"
#include "tensor/quant/scale_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 32;
constexpr std::size_t kBlockBytes = 34;
constexpr std::size_t kLevelsAt = 2;

void take_apart(const std::byte* block, BlockParts& parts) {
  set_scale(parts, load_f16(block));
  set_no_offset(parts);
  std::memcpy(parts.levels.data(), block + kLevelsAt, kBlockSize);
}

/// The largest magnitude becomes 127; halves are rounded away from zero.
void fit(const float* values, BlockParts& parts) {
  const float scale = std::fabs(peak_of({values, kBlockSize})) / 127;
  set_scale(parts, rounded_to_f16(scale));
  const float inverse = parts.scale_unit != 0 ? 1 / scale : 0;
  for (std::size_t i = 0; i < kBlockSize; ++i) {
    parts.levels[i] = static_cast<std::int8_t>(clamp_to_int(std::round(values[i] * inverse), -127, 127));
  }
}

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block);
  std::memcpy(block + kLevelsAt, parts.levels.data(), kBlockSize);
}

}  // namespace

extern constinit const StorageType quant_q8_0 = {
    .head = {.name = "q8_0",
             .aliases = "Q8_0",
             .summary = "8 bits and a scale for each 32 numbers (8.5 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 8,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kBlockSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kBlockSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0>,
};

}  // namespace plm
