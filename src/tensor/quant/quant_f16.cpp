// F16: IEEE binary16.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include "tensor/quant/block_fields.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

void unpack(const std::byte* blocks, float* values, std::size_t block_count) {
  for (std::size_t i = 0; i < block_count; ++i) values[i] = load_f16(blocks + 2 * i);
}

void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  for (std::size_t i = 0; i < block_count; ++i) store_bits16(f16_from_float(values[i]), blocks + 2 * i);
}

}  // namespace

constinit const StorageType quant_f16 = {
    .head = {.name = "f16", .aliases = "F16", .summary = "16-bit floating point", .source = "GGML block format"},
    .ggml_id = 1,
    .block_size = 1,
    .block_bytes = 2,
    .unpack = unpack,
    .pack = pack,
    .is_finite = exponents_are_finite<kF16Exponent, 2, 0>,
};

}  // namespace plm
