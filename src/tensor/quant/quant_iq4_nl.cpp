// IQ4_NL: 32 numbers as a float16 scale d and a 4-bit code each; value = d * level, the levels in level_tables.h.
// Layout: d, then 16 bytes; byte i holds number i in its low half and number i + 16 in its high half.
// Tested by tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#include <array>

#include "tensor/quant/bit_planes.h"
#include "tensor/quant/block_fields.h"
#include "tensor/quant/scale_fit.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr std::size_t kBlockSize = 32;
constexpr std::size_t kBlockBytes = 18;
constexpr std::size_t kCodesAt = 2;

void take_apart(const std::byte* block, BlockParts& parts) {
  set_scale(parts, load_f16(block));
  set_no_offset(parts);
  const std::span levels = std::span(parts.levels).first(kBlockSize);
  load_plane<4, 16>(block + kCodesAt, 0, levels);
  look_up(kIq4Levels, levels);
}

void fit(const float* values, BlockParts& parts) {
  const std::span numbers(values, kBlockSize);
  set_scale(parts, rounded_to_f16(fit_scale<Iq4LevelRule>(numbers)));
  round_to_levels<Iq4LevelRule>(numbers, parts.scale_unit, parts.levels.data());
}

void store(const BlockParts& parts, std::byte* block) {
  store_f16(parts.scale_unit, block);
  std::array<std::int8_t, kBlockSize> codes;
  for (std::size_t i = 0; i < kBlockSize; ++i) codes[i] = nearest_iq4_code(parts.levels[i]);
  store_plane<4, 16>(codes, 0, 1, block + kCodesAt);
}

}  // namespace

extern constinit const StorageType quant_iq4_nl = {
    .head = {.name = "iq4_nl",
             .aliases = "IQ4_NL",
             .summary = "4 bits for uneven levels and a scale for each 32 numbers (4.5 bits a number)",
             .source = "GGML block format"},
    .ggml_id = 20,
    .block_size = kBlockSize,
    .block_bytes = kBlockBytes,
    .group_size = kBlockSize,
    .take_apart = take_apart,
    .unpack = unpack_by_parts<take_apart, kBlockSize, kBlockBytes, kBlockSize>,
    .pack = pack_by_parts<fit, store, kBlockSize, kBlockBytes>,
    .is_finite = exponents_are_finite<kF16Exponent, kBlockBytes, 0>,
};

}  // namespace plm
