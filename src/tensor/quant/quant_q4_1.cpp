// Q4_1: 32 numbers as a float16 scale d, a float16 minimum m and 4 bits each; value = d * q + m.
// Layout: d, m, then 16 bytes; byte i holds number i in its low half and number i + 16 in its high half.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <algorithm>

#include "tensor/quant/block_fields.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 32;
constexpr std::size_t kBlockBytes = 20;

void unpack(const std::byte* blocks, float* values, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes, values += kBlockSize) {
    const float d = load_f16(blocks);
    const float m = load_f16(blocks + 2);
    for (std::size_t i = 0; i < kBlockSize / 2; ++i) {
      const int both = std::to_integer<int>(blocks[4 + i]);
      values[i] = static_cast<float>(both & 15) * d + m;
      values[i + kBlockSize / 2] = static_cast<float>(both >> 4) * d + m;
    }
  }
}

/// The smallest number becomes 0, the largest 15.
void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes, values += kBlockSize) {
    const auto [low, high] = std::minmax_element(values, values + kBlockSize);
    const float m = *low;
    const float d = (*high - m) / 15;
    const float inverse = store_f16(d, blocks) != 0 ? 1 / d : 0;
    store_f16(m, blocks + 2);
    const auto level = [&](std::size_t i) { return clamp_to_int((values[i] - m) * inverse + 0.5F, 0, 15); };
    for (std::size_t i = 0; i < kBlockSize / 2; ++i) {
      blocks[4 + i] = static_cast<std::byte>(level(i) | level(i + kBlockSize / 2) << 4);
    }
  }
}

}  // namespace

extern constinit const StorageType quant_q4_1 = {
    .head = {.name = "q4_1",
             .aliases = "Q4_1",
             .summary = "4 bits, a scale and a minimum for each 32 numbers (5 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 3,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .unpack = unpack,
    .pack = pack,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0, 2>,
};

}  // namespace plm
