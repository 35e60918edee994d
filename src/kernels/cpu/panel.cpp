#include "kernels/cpu/panel.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/half.h"
#include "kernels/cpu/block_copy.h"

namespace plm {
namespace {

constexpr PanelType kTypes[] = {
    {"q2_k", PanelKind::q2_k, panel_forms::kQ2K},       {"q3_k", PanelKind::q3_k, panel_forms::kQ3K},
    {"q4_0", PanelKind::q4_0, panel_forms::kQ4_0},      {"q4_1", PanelKind::q4_1, panel_forms::kQ4_1},
    {"q4_k", PanelKind::q4_k, panel_forms::kQ4K},       {"q5_0", PanelKind::q5_0, panel_forms::kQ5_0},
    {"q5_1", PanelKind::q5_1, panel_forms::kQ5_1},      {"q5_k", PanelKind::q5_k, panel_forms::kQ5K},
    {"q6_k", PanelKind::q6_k, panel_forms::kQ6K},       {"q8_0", PanelKind::q8_0, panel_forms::kQ8_0},
    {"iq4_nl", PanelKind::iq4_nl, panel_forms::kIq4Nl}, {"iq4_xs", PanelKind::iq4_xs, panel_forms::kIq4Xs},
    {"mxfp4", PanelKind::mxfp4, panel_forms::kMxfp4},   {"f32", PanelKind::f32, panel_forms::kF32},
    {"f16", PanelKind::f16, panel_forms::kF16},         {"bf16", PanelKind::bf16, panel_forms::kBf16},
};

using PartLevels = std::array<std::uint8_t, kPartInputs>;

/// Where the words of one row and part go; word i + 1 of a row lies 16 words behind word i.
struct WordPlaces {
  std::byte* first;

  /// The next `Count` words, whose bytes are `bytes`.
  template <std::size_t Count>
  void put(const std::array<std::uint8_t, 4 * Count>& bytes) {
    for (std::size_t i = 0; i < Count; ++i, first += 4 * kPanelOutputs) std::memcpy(first, bytes.data() + 4 * i, 4);
  }

  /// The plane of `Bits` bits from bit `from` on.
  template <int Bits>
  void put_plane(const PartLevels& levels, int from) {
    constexpr std::size_t kBytes = kPartInputs * Bits / 8;
    constexpr unsigned kMask = (1U << Bits) - 1;
    std::array<std::uint8_t, kBytes> bytes{};
    for (std::size_t field = 0; field < 8 / Bits; ++field) {
      for (std::size_t i = 0; i < kBytes; ++i) {
        const unsigned level = static_cast<unsigned>(levels[field * kBytes + i]) >> from & kMask;
        bytes[i] = static_cast<std::uint8_t>(bytes[i] | level << (field * Bits));
      }
    }
    put<kBytes / 4>(bytes);
  }
};

void put_levels(int bits, const PartLevels& levels, WordPlaces to) {
  switch (bits) {
    case 2: to.put_plane<2>(levels, 0); break;
    case 3: to.put_plane<2>(levels, 0), to.put_plane<1>(levels, 2); break;
    case 4: to.put_plane<4>(levels, 0); break;
    case 5: to.put_plane<4>(levels, 0), to.put_plane<1>(levels, 4); break;
    case 6: to.put_plane<4>(levels, 0), to.put_plane<2>(levels, 4); break;
    default: to.put_plane<8>(levels, 0); break;
  }
}

/// stored[level + 128] for every level of a form.
std::array<std::uint8_t, 256> stored_levels(const PanelForm& form) {
  std::array<std::uint8_t, 256> stored{};
  for (int level = -128; level < 128; ++level) {
    stored[static_cast<std::size_t>(level + 128)] = static_cast<std::uint8_t>(level + form.bias);
  }
  if (form.lookup == LevelLookup::none) return stored;
  const LevelTable& table = level_table(form.lookup);
  for (std::size_t i = table.size(); i-- > 0;) stored[table[i]] = static_cast<std::uint8_t>(i);
  return stored;
}

/// Packs rows of one quantised weight, block by block.
class QuantPacker {
 public:
  QuantPacker(const PanelForm& form, const WeightSource& source)
      : form_(form),
        type_(*source.type),
        parts_(part_count(source.inputs)),
        block_parts_(type_.block_size / kPartInputs),
        stored_(stored_levels(form)) {}

  void put_row(const std::byte* blocks, std::size_t row, std::byte* panel) {
    std::byte* units = panel;
    std::byte* part = panel + panel_unit_bytes(form_, parts_);
    for (std::size_t p = 0; p < parts_; p += block_parts_, blocks += type_.block_bytes) {
      type_.take_apart(blocks, block_);
      put_units(units + row * 2);
      units += form_.unit_bytes();
      for (std::size_t i = 0; i < block_parts_; ++i, part += form_.part_bytes()) put_part(i, row, part);
    }
  }

 private:
  void put_units(std::byte* to) const {
    const auto put = [&](float unit, std::byte* place) {
      const std::uint16_t bits = form_.wide_units ? bf16_from_float(unit) : f16_from_float(unit);
      std::memcpy(place, &bits, sizeof bits);
    };
    put(block_.scale_unit, to);
    if (form_.has_offsets()) put(block_.offset_unit, to + 2 * kPanelOutputs);
  }

  void put_part(std::size_t index, std::size_t row, std::byte* part) const {
    const auto groups = static_cast<std::size_t>(form_.groups);
    for (std::size_t g = 0; g < groups; ++g) {
      const std::int8_t scale = block_.scales[index * groups + g];
      const std::int8_t offset = block_.offsets[index * groups + g];
      std::byte* to = part + g * kPanelOutputs + row;
      if (form_.scales == ScaleForm::half_bytes_offset) *to = static_cast<std::byte>(scale | -offset << 4);
      if (form_.scales == ScaleForm::bytes || form_.scales == ScaleForm::bytes_offset) {
        *to = static_cast<std::byte>(scale);
      }
      if (form_.scales == ScaleForm::bytes_offset) to[groups * kPanelOutputs] = static_cast<std::byte>(offset);
    }
    PartLevels levels;
    for (std::size_t i = 0; i < kPartInputs; ++i) {
      levels[i] = stored_[static_cast<std::size_t>(block_.levels[index * kPartInputs + i] + 128)];
    }
    put_levels(form_.bits, levels, {part + form_.scale_bytes() + row * 4});
  }

  const PanelForm& form_;
  const StorageType& type_;
  std::size_t parts_;
  std::size_t block_parts_;
  std::array<std::uint8_t, 256> stored_;
  BlockParts block_;
};

/// Numbers of `Width` bytes: input after input, 16 rows each.
template <std::size_t Width>
void put_plain_row(const std::byte* numbers, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * kPanelOutputs * Width, numbers + i * Width, Width);
}

}  // namespace

const PanelType* find_panel_type(const StorageType& type) {
  const auto* found = std::ranges::find(kTypes, type.name(), &PanelType::type);
  return found != std::end(kTypes) ? found : nullptr;
}

void pack_panels(const PanelType& type, const WeightSource& source, Share panels, std::byte* first_panel) {
  const PanelForm& form = type.form;
  if (!form.is_plain()) {
    const auto pack = find_block_words(type.kind) != nullptr ? copy_blocks : pack_panels_by_parts;
    return pack(type, source, panels, first_panel);
  }
  const std::size_t row_bytes = source.type->row_bytes(source.inputs);
  const std::size_t bytes = panel_bytes(form, part_count(source.inputs));
  for (std::size_t o = panels.begin * kPanelOutputs; o < std::min(panels.end * kPanelOutputs, source.outputs); ++o) {
    const std::byte* row = source.bytes.data() + o * row_bytes;
    std::byte* panel = first_panel + o / kPanelOutputs * bytes;
    if (form.bits == 32) put_plain_row<4>(row, source.inputs, panel + o % kPanelOutputs * 4);
    if (form.bits == 16) put_plain_row<2>(row, source.inputs, panel + o % kPanelOutputs * 2);
  }
}

void pack_panels_by_parts(const PanelType& type, const WeightSource& source, Share panels, std::byte* first_panel) {
  const std::size_t row_bytes = source.type->row_bytes(source.inputs);
  const std::size_t bytes = panel_bytes(type.form, part_count(source.inputs));
  QuantPacker packer(type.form, source);
  for (std::size_t o = panels.begin * kPanelOutputs; o < std::min(panels.end * kPanelOutputs, source.outputs); ++o) {
    packer.put_row(source.bytes.data() + o * row_bytes, o % kPanelOutputs, first_panel + o / kPanelOutputs * bytes);
  }
}

}  // namespace plm
