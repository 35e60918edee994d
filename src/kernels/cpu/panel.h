// Panels: a weight repacked so that a SIMD lane is an output row and no sum ever crosses lanes.
//
// A panel holds 16 output rows, quant block by quant block. A packed block holds exactly the bytes of its 16 file
// blocks, regrouped: each item (a byte, 16-bit or 32-bit number of the file's block) lies beside the same item of the
// other 15 rows. So a panel costs the file's bits per weight, packing is a copy, and any vector width can read it.
// 32-bit items hold several small levels; readers (kernels/cpu/simd_panels-inl.h) shift them out, all rows at once.
// Inputs are padded to whole partial sums of 32 and outputs to whole panels with zero bytes, which mean zero.
// Tested by tests/kernels/cpu/test_panel.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/thread_team.h"
#include "kernels/device.h"

namespace plm {

inline constexpr std::size_t kPanelOutputs = 16;  ///< output rows side by side
inline constexpr std::size_t kPanelPart = 32;     ///< inputs of one partial sum

enum class PanelKind { f32, f16, bf16, q4_0, q4_1, q8_0, q4_k, q6_k };

/// A run of `count` items of `width` bytes that begins at byte `offset` of every quant block.
struct PanelField {
  std::uint16_t offset;
  std::uint16_t width;
  std::uint16_t count;
};

/// How the blocks of a storage type are regrouped: field after field, item after item, 16 rows each.
struct PanelLayout {
  std::string_view type;  ///< StorageType::name
  PanelKind kind;
  std::span<const PanelField> fields;
};

/// Null if the fast kernels have no panels for the type.
[[nodiscard]] const PanelLayout* find_panel_layout(const StorageType& type);

[[nodiscard]] inline std::size_t panel_count(std::size_t outputs) {
  return (outputs + kPanelOutputs - 1) / kPanelOutputs;
}
/// Bytes of one panel.
[[nodiscard]] inline std::size_t panel_bytes(const StorageType& type, std::size_t inputs) {
  const std::size_t padded = (inputs + kPanelPart - 1) / kPanelPart * kPanelPart;
  return kPanelOutputs * type.row_bytes(padded);
}

/// Writes the panels [begin, end) of a weight's rows to their places after `first_panel`, which must be zero bytes.
void pack_panels(const PanelLayout& layout, const WeightSource& source, Share panels, std::byte* first_panel);

}  // namespace plm
