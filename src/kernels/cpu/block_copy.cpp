#include "kernels/cpu/block_copy.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace plm {
namespace {

constexpr BlockWords kBlockWords[] = {
    {.kind = PanelKind::q4_0, .levels_at = 2, .words = 4},
    {.kind = PanelKind::q4_1, .levels_at = 4, .words = 4},
    {.kind = PanelKind::iq4_nl, .levels_at = 2, .words = 4},
    {.kind = PanelKind::q5_0, .levels_at = 6, .words = 4, .top_bits_at = 2},
    {.kind = PanelKind::q5_1, .levels_at = 8, .words = 4, .top_bits_at = 4},
    {.kind = PanelKind::q8_0, .levels_at = 2, .words = 8, .flipped = 0x80808080U},  // the sign: levels are stored + 128
};

std::uint32_t load_word(const std::byte* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

void store_word(std::uint32_t word, std::byte* to) { std::memcpy(to, &word, sizeof word); }

/// Moves bit 4f + i to bit 8i + f: the word of a 1-bit plane has the numbers i, i + 4, ... in its byte i.
std::uint32_t gather_top_bits(std::uint32_t bits) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < 4; ++i) {
    std::uint32_t byte = bits >> i & 0x11111111U;  // every fourth bit, to be moved together
    byte = (byte | byte >> 3) & 0x03030303U;
    byte = (byte | byte >> 6) & 0x000F000FU;
    byte = (byte | byte >> 12) & 0x000000FFU;
    word |= byte << (8 * i);
  }
  return word;
}

constexpr std::size_t kWordRow = kPanelOutputs * 4;  // bytes of one word of all rows

/// The same block of up to 16 rows, `row_bytes` apart.
struct BlockColumn {
  const std::byte* first;
  std::size_t row_bytes;
  std::size_t rows;
};

template <std::size_t Words>
void put_part(const BlockColumn& column, const BlockWords& words, std::byte* part) {
  const std::byte* block = column.first;
  for (std::size_t row = 0; row < column.rows; ++row, block += column.row_bytes, part += 4) {
    for (std::size_t w = 0; w < Words; ++w) {
      store_word(load_word(block + words.levels_at + 4 * w) ^ words.flipped, part + w * kWordRow);
    }
    if (words.top_bits_at != 0) {
      store_word(gather_top_bits(load_word(block + words.top_bits_at)), part + Words * kWordRow);
    }
  }
}

void put_units(const BlockColumn& column, bool has_offsets, std::byte* units) {
  const std::byte* block = column.first;
  for (std::size_t row = 0; row < column.rows; ++row, block += column.row_bytes, units += 2) {
    std::memcpy(units, block, 2);
    if (has_offsets) std::memcpy(units + 2 * kPanelOutputs, block + 2, 2);
  }
}

}  // namespace

const BlockWords* find_block_words(PanelKind kind) {
  const auto* found = std::ranges::find(kBlockWords, kind, &BlockWords::kind);
  return found != std::end(kBlockWords) ? found : nullptr;
}

void copy_blocks(const PanelType& type, const WeightSource& source, Share panels, std::byte* first_panel) {
  const PanelForm& form = type.form;
  const BlockWords& words = *find_block_words(type.kind);
  const std::size_t parts = part_count(source.inputs);
  const std::size_t row_bytes = source.type->row_bytes(source.inputs);
  for (std::size_t p = panels.begin; p < panels.end; ++p) {
    const std::size_t first_row = p * kPanelOutputs;
    BlockColumn column{.first = source.bytes.data() + first_row * row_bytes,
                       .row_bytes = row_bytes,
                       .rows = std::min(kPanelOutputs, source.outputs - first_row)};
    std::byte* units = first_panel + p * panel_bytes(form, parts);
    std::byte* part = units + panel_unit_bytes(form, parts);
    for (std::size_t i = 0; i < parts; ++i, column.first += source.type->block_bytes) {
      put_units(column, form.has_offsets(), units + i * form.unit_bytes());
      words.words == 8 ? put_part<8>(column, words, part) : put_part<4>(column, words, part);
      part += form.part_bytes();
    }
  }
}

}  // namespace plm
