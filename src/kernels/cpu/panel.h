// Panels: a weight repacked so that a SIMD lane is an output row and no sum ever crosses lanes.
//
// A panel holds 16 output rows. Its inputs are cut into parts of 32, and each part is a small record in which every
// item (a scale, a word of levels) lies beside the same item of the other 15 rows. Levels are stored without sign, in
// bit planes of words: a word of a plane holds the same bits of inputs 4q ... 4q + 3 in its four bytes, so that one
// load, one shift and one mask give "a quad": 16 rows x 4 consecutive inputs as bytes, what integer dot products want.
//   8 bits: word q holds quad q.               4 bits: word q % 4, upper half of the bytes for q >= 4.
//   2 bits: word q % 2, bits 2 (q / 2) on.     1 bit: one word, bit q of each byte.
// 3, 5 and 6 bits are a plane of 2, 4 and 4 with one of 1, 1 and 2 bits above. What scales have in common over a whole
// quant block (the float16 units) stands in front of the parts: [units][parts]. A panel so costs the file's bits per
// weight, up to the six-bit scales that are widened to bytes. Inputs of plain types are padded to whole parts and
// outputs to whole panels with zero bytes, which mean zero.
// The readers are in simd_panels-inl.h and vnni_linear.cpp. Tested by tests/kernels/cpu/test_panel.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/thread_team.h"
#include "kernels/device.h"
#include "tensor/quant/level_tables.h"

namespace plm {

inline constexpr std::size_t kPanelOutputs = 16;            ///< output rows side by side
inline constexpr std::size_t kPartInputs = 32;              ///< inputs of one part
inline constexpr std::size_t kPartQuads = kPartInputs / 4;  ///< words of four inputs

/// How the scales of a part are stored; units are 16-bit floats, one each quant block and row.
enum class ScaleForm {
  unit,               ///< scale = unit
  unit_offset,        ///< and offset = its unit
  bytes,              ///< scale = unit * int8
  bytes_offset,       ///< and offset = its unit * int8
  half_bytes_offset,  ///< scale = unit * lower half, offset = -(its unit * upper half) of one byte
};

/// Unsigned bytes that stored levels stand for, less `bias`.
using LevelTable = std::array<std::uint8_t, 16>;

/// Levels of a table as unsigned bytes with bias 128.
[[nodiscard]] constexpr LevelTable without_sign(const std::array<std::int8_t, 16>& levels) {
  LevelTable table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(levels[i] + 128);
  return table;
}
inline constexpr LevelTable kIq4Table = without_sign(kIq4Levels);
inline constexpr LevelTable kMxfp4Table = without_sign(kMxfp4Levels);

/// What a stored level of 4 bits is looked up in. (Not a pointer to the table: GCC's undefined-behaviour sanitizer will
/// not compare one when compiling.)
enum class LevelLookup { none, iq4, mxfp4 };
[[nodiscard]] constexpr const LevelTable& level_table(LevelLookup lookup) {
  return lookup == LevelLookup::mxfp4 ? kMxfp4Table : kIq4Table;
}

/// How a storage type lies in a panel. A template argument of the kernels, so that all of it is known when they are
/// compiled. level = stored - bias, or level_table(lookup)[stored] - bias.
struct PanelForm {
  int bits;  ///< of a stored level; 16 and 32: plain numbers
  int bias = 0;
  int groups = 1;      ///< scales in a part
  int unit_parts = 1;  ///< parts that share units
  ScaleForm scales = ScaleForm::unit;
  bool wide_units = false;  ///< units are bfloat16, for their range
  LevelLookup lookup = LevelLookup::none;

  [[nodiscard]] constexpr bool is_plain() const { return bits >= 16; }
  [[nodiscard]] constexpr bool has_offsets() const { return scales != ScaleForm::unit && scales != ScaleForm::bytes; }
  /// Bytes of the units of one quant block and 16 rows.
  [[nodiscard]] constexpr std::size_t unit_bytes() const {
    return is_plain() ? 0 : kPanelOutputs * 2 * (has_offsets() ? 2 : 1);
  }
  /// Bytes of the scales in a part.
  [[nodiscard]] constexpr std::size_t scale_bytes() const {
    const std::size_t item = kPanelOutputs * static_cast<std::size_t>(groups);
    switch (scales) {
      case ScaleForm::unit:
      case ScaleForm::unit_offset: return 0;
      case ScaleForm::bytes:
      case ScaleForm::half_bytes_offset: return item;
      case ScaleForm::bytes_offset: return 2 * item;
    }
    return 0;
  }
  [[nodiscard]] constexpr std::size_t part_bytes() const {
    return scale_bytes() + kPanelOutputs * kPartInputs * static_cast<std::size_t>(bits) / 8;
  }
};

namespace panel_forms {
inline constexpr PanelForm kF32{.bits = 32};
inline constexpr PanelForm kF16{.bits = 16};
inline constexpr PanelForm kBf16{.bits = 16, .wide_units = true};
inline constexpr PanelForm kQ4_0{.bits = 4, .bias = 8};
inline constexpr PanelForm kQ4_1{.bits = 4, .scales = ScaleForm::unit_offset};
inline constexpr PanelForm kQ5_0{.bits = 5, .bias = 16};
inline constexpr PanelForm kQ5_1{.bits = 5, .scales = ScaleForm::unit_offset};
inline constexpr PanelForm kQ8_0{.bits = 8, .bias = 128};
inline constexpr PanelForm kIq4Nl{.bits = 4, .bias = 128, .lookup = LevelLookup::iq4};
inline constexpr PanelForm kMxfp4{.bits = 4, .bias = 128, .wide_units = true, .lookup = LevelLookup::mxfp4};
inline constexpr PanelForm kQ2K{.bits = 2, .groups = 2, .unit_parts = 8, .scales = ScaleForm::half_bytes_offset};
inline constexpr PanelForm kQ3K{.bits = 3, .bias = 4, .groups = 2, .unit_parts = 8, .scales = ScaleForm::bytes};
inline constexpr PanelForm kQ4K{.bits = 4, .unit_parts = 8, .scales = ScaleForm::bytes_offset};
inline constexpr PanelForm kQ5K{.bits = 5, .unit_parts = 8, .scales = ScaleForm::bytes_offset};
inline constexpr PanelForm kQ6K{.bits = 6, .bias = 32, .groups = 2, .unit_parts = 8, .scales = ScaleForm::bytes};
inline constexpr PanelForm kIq4Xs{
    .bits = 4, .bias = 128, .unit_parts = 8, .scales = ScaleForm::bytes, .lookup = LevelLookup::iq4};
}  // namespace panel_forms

/// Number of a form, to index tables of kernels: quantised ones first.
enum class PanelKind {
  q2_k,
  q3_k,
  q4_0,
  q4_1,
  q4_k,
  q5_0,
  q5_1,
  q5_k,
  q6_k,
  q8_0,
  iq4_nl,
  iq4_xs,
  mxfp4,
  f32,
  f16,
  bf16
};
inline constexpr std::size_t kQuantKinds = static_cast<std::size_t>(PanelKind::f32);

/// The form of a storage type under its name.
struct PanelType {
  std::string_view type;  ///< StorageType::name
  PanelKind kind;
  PanelForm form;
};

/// Null if there are no panels for the type; then kernels use the rows of the file.
[[nodiscard]] const PanelType* find_panel_type(const StorageType& type);

[[nodiscard]] inline std::size_t panel_count(std::size_t outputs) {
  return (outputs + kPanelOutputs - 1) / kPanelOutputs;
}
[[nodiscard]] inline std::size_t part_count(std::size_t inputs) { return (inputs + kPartInputs - 1) / kPartInputs; }

/// Bytes of all units of a panel, which stand before its parts.
[[nodiscard]] constexpr std::size_t panel_unit_bytes(const PanelForm& form, std::size_t parts) {
  const std::size_t bytes = parts / static_cast<std::size_t>(form.unit_parts) * form.unit_bytes();
  return (bytes + 63) / 64 * 64;
}
/// Bytes of one panel.
[[nodiscard]] constexpr std::size_t panel_bytes(const PanelForm& form, std::size_t parts) {
  return panel_unit_bytes(form, parts) + parts * form.part_bytes();
}

/// Writes the panels [begin, end) of a weight's rows to their places after `first_panel`, which must be zero bytes.
void pack_panels(const PanelType& type, const WeightSource& source, Share panels, std::byte* first_panel);

}  // namespace plm
