// Q8_0: 32 numbers as a float16 scale d and a signed byte each; value = d * q. Layout: d, then 32 bytes.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <cmath>

#include "tensor/quant/block_fields.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 32;
constexpr std::size_t kBlockBytes = 34;

void unpack(const std::byte* blocks, float* values, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes, values += kBlockSize) {
    const float d = load_f16(blocks);
    for (std::size_t i = 0; i < kBlockSize; ++i)
      values[i] = static_cast<float>(static_cast<std::int8_t>(blocks[2 + i])) * d;
  }
}

/// The largest magnitude becomes 127; halves are rounded away from zero.
void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes, values += kBlockSize) {
    float peak = 0;
    for (std::size_t i = 0; i < kBlockSize; ++i) peak = std::fmax(peak, std::fabs(values[i]));
    const float d = peak / 127;
    const float inverse = store_f16(d, blocks) != 0 ? 1 / d : 0;
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      blocks[2 + i] = static_cast<std::byte>(clamp_to_int(std::round(values[i] * inverse), -127, 127));
    }
  }
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
    .unpack = unpack,
    .pack = pack,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0>,
};

}  // namespace plm
