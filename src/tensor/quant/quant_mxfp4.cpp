// MXFP4: 32 numbers as a scale 2^(x - 128) given by its exponent byte x and a 4-bit code each; value = scale * level,
// the levels in level_tables.h. Layout: x, then 16 bytes; byte i holds number i in its low half and number i + 16 in
// its high half. Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/level_tables.h"
#include "tensor/quant/scale_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 32;
constexpr std::size_t kBlockBytes = 17;
constexpr std::size_t kCodesAt = 1;

float scale_of(unsigned exponent) {
  // The two smallest are below the smallest normal float32, 2^-126.
  return std::bit_cast<float>(exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23);
}

void take_apart(const std::byte* block, BlockParts& parts) {
  set_scale(parts, scale_of(byte_at(block)));
  set_no_offset(parts);
  const std::span levels = std::span(parts.levels).first(kBlockSize);
  load_plane<4, 16>(block + kCodesAt, 0, levels);
  look_up(kMxfp4Levels, levels);
}

std::int8_t nearest_code_of(float value) {
  const std::int8_t magnitude = nearest_code(std::span(kMxfp4Levels).first<8>(), std::fabs(value));
  return value < 0 && magnitude > 0 ? static_cast<std::int8_t>(magnitude + 8) : magnitude;
}

/// Under the scale the peak lies between 8 and 16; above 12 it is cut.
void pack(const float* values, std::byte* blocks, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, values += kBlockSize, blocks += kBlockBytes) {
    const float peak = std::fabs(peak_of({values, kBlockSize}));
    const unsigned exponent = std::max(std::bit_cast<std::uint32_t>(peak) >> 23, 2U) - 2;
    const float scale = scale_of(exponent);
    std::array<std::int8_t, kBlockSize> codes;
    for (std::size_t i = 0; i < kBlockSize; ++i) codes[i] = nearest_code_of(values[i] / scale);
    blocks[0] = static_cast<std::byte>(exponent);
    store_plane<4, 16>(codes, 0, 1, blocks + kCodesAt);
  }
}

/// Every scale is finite, but under the three largest a number may be too large for float32.
bool is_finite(const std::byte* blocks, std::size_t block_count) {
  for (std::size_t b = 0; b < block_count; ++b, blocks += kBlockBytes) {
    if (byte_at(blocks) < 253) continue;
    std::array<float, kBlockSize> values;
    unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kBlockSize>(blocks, values.data(), 1);
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return false;
  }
  return true;
}

}  // namespace

extern constinit const StorageType quant_mxfp4 = {
    .head = {.name = "mxfp4",
             .aliases = "MXFP4",
             .summary = "4-bit floating point and a power of two for each 32 numbers (4.25 bits a number)",
             .source = "OCP Microscaling Formats 1.0; GGML block format"},
    .ggml_id = 39,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kBlockSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kBlockSize>,
    .pack = pack,
    .is_finite = is_finite,
};

}  // namespace plm
