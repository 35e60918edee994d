// Packing of the types whose blocks of 32 already hold the words that a panel wants (kernels/cpu/panel.h), so that they
// need not be taken apart: the units are 16-bit floats in front, and byte i of the levels holds numbers i and i + 16,
// or is number i. Loading a model is mostly this. Tested by tests/kernels/cpu/test_panel.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/panel.h"

namespace plm {

/// Where a block holds what, in bytes from its start.
struct BlockWords {
  PanelKind kind;
  std::size_t levels_at;
  std::size_t words;            ///< of 4 bytes, from levels_at on
  std::uint32_t flipped = 0;    ///< bits of a word that a panel stores the other way round
  std::size_t top_bits_at = 0;  ///< 32 bits, bit k the highest one of number k; 0: there are none
};

/// Null for types that must be taken apart.
[[nodiscard]] const BlockWords* find_block_words(PanelKind kind);

/// As pack_panels, for a type with BlockWords.
void copy_blocks(const PanelType& type, const WeightSource& source, Share panels, std::byte* first_panel);

/// As pack_panels, for any quantised type: the plain way, by StorageType::take_apart.
void pack_panels_by_parts(const PanelType& type, const WeightSource& source, Share panels, std::byte* first_panel);

}  // namespace plm
