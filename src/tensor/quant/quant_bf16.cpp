// BF16: the upper half of a binary32.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include "tensor/quant/block_fields.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

void unpack(const std::byte* blocks, float* values, std::size_t block_count) {
  for (std::size_t i = 0; i < block_count; ++i) values[i] = float_from_bf16(load_bits16(blocks + 2 * i));
}

void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  for (std::size_t i = 0; i < block_count; ++i) store_bits16(bf16_from_float(values[i]), blocks + 2 * i);
}

}  // namespace

constinit const StorageType quant_bf16 = {
    .head = {.name = "bf16",
             .aliases = "BF16",
             .summary = "16-bit floating point with the range of 32 bits",
             .source = "GGML block format"},
    .ggml_id = 30,
    .block_size = 1,
    .block_bytes = 2,
    .unpack = unpack,
    .pack = pack,
    .is_finite = exponents_are_finite<kBf16Exponent, 2, 0>,
};

}  // namespace plm
