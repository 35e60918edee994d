// How numbers are stored: one file per type in tensor/quant/, found through the registry `storage_types()`.
//
// A quantised row is a sequence of quant blocks; each block holds `block_size` consecutive numbers in `block_bytes`
// bytes. `take_apart` is the one definition of what the bytes mean, bit for bit as the format's reference (GGML) has
// it; `unpack` follows from it, and kernels lay weights out anew from the same parts. `reference_dot` is the plain
// version that every fast kernel is compared with. Tested by tests/tensor/test_storage_type.cpp,
// tests/tensor/test_quant.cpp and tests/contract/test_storage_type.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/definition.h"

namespace plm {

inline constexpr std::size_t kMostPerBlock = 256;  ///< numbers in the largest quant blocks
inline constexpr std::size_t kMostGroups = 16;     ///< groups in a quant block

/// A quant block taken apart. With g = i / group_size:
///   value[i] = (scale_unit * scales[g]) * levels[i] + (offset_unit * offsets[g])
/// in float32, each operation rounded, bit for bit as the format's reference has it (but for the sign of a zero).
struct BlockParts {
  float scale_unit = 0;
  float offset_unit = 0;                          ///< 0 where the type has no offsets
  std::array<std::int8_t, kMostGroups> scales;    ///< one per group; 1 where the type has none of its own
  std::array<std::int8_t, kMostGroups> offsets;   ///< one per group, not positive where the type subtracts
                                                  ///< minima; 0 where it has no offsets
  std::array<std::int8_t, kMostPerBlock> levels;  ///< one per number
};

struct StorageType {
  Definition head;
  std::uint32_t ggml_id;      ///< type number in a GGUF tensor table
  std::uint32_t block_size;   ///< numbers per quant block; 1 for plain types
  std::uint32_t block_bytes;  ///< bytes per quant block
  /// Numbers of a quant block that share a scale, 16 or 32; 0 for plain types.
  std::uint32_t group_size = 0;
  /// Takes one quant block apart: sets the units, and a scale, an offset or a level for every group and number it has.
  /// Null for plain types.
  void (*take_apart)(const std::byte* block, BlockParts& parts) = nullptr;
  /// values[i] for i < block_count * block_size from `block_count` blocks.
  void (*unpack)(const std::byte* blocks, float* values, std::size_t block_count);
  /// Blocks near `values` by the format's plain rule. Values should be finite: from others, and where a scale leaves
  /// the range of its field, come blocks of no use, but never undefined behaviour.
  void (*pack)(const float* values, std::byte* blocks, std::size_t block_count);
  /// Whether every scale (or every number of a plain type) is finite.
  bool (*is_finite)(const std::byte* blocks, std::size_t block_count);

  [[nodiscard]] std::string_view name() const { return head.name; }
  /// Bytes of a row of `columns` numbers; columns must be a multiple of block_size.
  [[nodiscard]] std::size_t row_bytes(std::size_t columns) const { return columns / block_size * block_bytes; }
};

/// All storage types, sorted by name (generated).
[[nodiscard]] std::span<const StorageType* const> storage_types();

/// The type with this GGUF number, or null.
[[nodiscard]] const StorageType* find_storage_type(std::uint32_t ggml_id);
/// The type with this name or alias, or null.
[[nodiscard]] const StorageType* find_storage_type(std::string_view name);

/// Sum of x[i] * w[i] over a row, w unpacked: the tree that every device must follow (see kernels/device.h, linear).
[[nodiscard]] float reference_dot(const StorageType& type, const std::byte* row, const float* x, std::size_t columns);

// The types that the program itself names (activations, KV, tests).
extern const StorageType quant_f32;
extern const StorageType quant_f16;
extern const StorageType quant_bf16;
extern const StorageType quant_q8_0;
extern const StorageType quant_q4_0;

}  // namespace plm
