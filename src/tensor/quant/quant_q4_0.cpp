// Q4_0: 32 numbers as a float16 scale d and 4 bits each; value = d * (q - 8).
// Layout: d, then 16 bytes; byte i holds number i in its low half and number i + 16 in its high half.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <cmath>

#include "tensor/quant/block_fields.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 32;
constexpr std::size_t kBlockBytes = 18;

void unpack(const std::byte* blocks, float* values, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes, values += kBlockSize) {
    const float d = load_f16(blocks);
    for (std::size_t i = 0; i < kBlockSize / 2; ++i) {
      const int both = std::to_integer<int>(blocks[2 + i]);
      values[i] = static_cast<float>((both & 15) - 8) * d;
      values[i + kBlockSize / 2] = static_cast<float>((both >> 4) - 8) * d;
    }
  }
}

/// The number of largest magnitude becomes -8, its sign going into the scale: the side that has one level more.
void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes, values += kBlockSize) {
    float peak = 0;
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      if (std::fabs(values[i]) > std::fabs(peak)) peak = values[i];
    }
    const float d = peak / -8;
    const float inverse = store_f16(d, blocks) != 0 ? 1 / d : 0;
    const auto level = [&](std::size_t i) { return clamp_to_int(values[i] * inverse + 8.5F, 0, 15); };
    for (std::size_t i = 0; i < kBlockSize / 2; ++i) {
      blocks[2 + i] = static_cast<std::byte>(level(i) | level(i + kBlockSize / 2) << 4);
    }
  }
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
    .unpack = unpack,
    .pack = pack,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0>,
};

}  // namespace plm
