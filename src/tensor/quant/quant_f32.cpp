// F32: IEEE binary32, as it is.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <cstring>

#include "tensor/storage_type.h"

namespace plm {
namespace {

void unpack(const std::byte* blocks, float* values, std::size_t block_count) {
  if (block_count > 0) std::memcpy(values, blocks, block_count * sizeof(float));  // no blocks may lie nowhere
}

void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  if (block_count > 0) std::memcpy(blocks, values, block_count * sizeof(float));
}

bool is_finite(const std::byte* blocks, std::size_t block_count) {
  std::uint32_t carried = 0;
  for (std::size_t i = 0; i < block_count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, blocks + i * sizeof bits, sizeof bits);
    carried |= (bits & 0x7f800000U) + 0x00800000U;  // reaches the sign bit only from all ones
  }
  return (carried & 0x80000000U) == 0;
}

}  // namespace

constinit const StorageType quant_f32 = {
    .head = {.name = "f32", .aliases = "F32", .summary = "32-bit floating point", .source = "GGML block format"},
    .ggml_id = 0,
    .block_size = 1,
    .block_bytes = 4,
    .unpack = unpack,
    .pack = pack,
    .is_finite = is_finite,
};

}  // namespace plm
