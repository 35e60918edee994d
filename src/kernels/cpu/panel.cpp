#include "kernels/cpu/panel.h"

#include <algorithm>
#include <cstring>

namespace plm {
namespace {

constexpr PanelField kF32[] = {{0, 4, 1}};
constexpr PanelField kHalf[] = {{0, 2, 1}};
constexpr PanelField kQ4_0[] = {{0, 2, 1}, {2, 4, 4}};                                // scale, levels
constexpr PanelField kQ4_1[] = {{0, 2, 1}, {2, 2, 1}, {4, 4, 4}};                     // scale, minimum, levels
constexpr PanelField kQ8_0[] = {{0, 2, 1}, {2, 1, 32}};                               // scale, levels
constexpr PanelField kQ4K[] = {{0, 2, 1}, {2, 2, 1}, {4, 1, 12}, {16, 4, 32}};        // units, scales, levels
constexpr PanelField kQ6K[] = {{208, 2, 1}, {0, 4, 32}, {128, 4, 16}, {192, 1, 16}};  // unit, levels, scales

constexpr PanelLayout kLayouts[] = {
    {"f32", PanelKind::f32, kF32},    {"f16", PanelKind::f16, kHalf},   {"bf16", PanelKind::bf16, kHalf},
    {"q4_0", PanelKind::q4_0, kQ4_0}, {"q4_1", PanelKind::q4_1, kQ4_1}, {"q8_0", PanelKind::q8_0, kQ8_0},
    {"q4_k", PanelKind::q4_k, kQ4K},  {"q6_k", PanelKind::q6_k, kQ6K},
};

// The same bytes of up to 16 consecutive rows; the distance from row to row is constant.
struct Rows {
  const std::byte* first;
  std::size_t stride;
  std::size_t count;
};

template <std::size_t Width>
std::byte* pack_field(const Rows& rows, const PanelField& field, std::byte* to) {
  for (std::size_t item = 0; item < field.count; ++item, to += kPanelOutputs * Width) {
    const std::byte* from = rows.first + field.offset + item * Width;
    for (std::size_t r = 0; r < rows.count; ++r) std::memcpy(to + r * Width, from + r * rows.stride, Width);
  }
  return to;
}

std::byte* pack_block(const PanelLayout& layout, const Rows& rows, std::byte* to) {
  for (const PanelField& field : layout.fields) {
    switch (field.width) {
      case 1: to = pack_field<1>(rows, field, to); break;
      case 2: to = pack_field<2>(rows, field, to); break;
      default: to = pack_field<4>(rows, field, to); break;
    }
  }
  return to;
}

}  // namespace

const PanelLayout* find_panel_layout(const StorageType& type) {
  const auto* layout = std::ranges::find(kLayouts, type.name(), &PanelLayout::type);
  return layout != std::end(kLayouts) ? layout : nullptr;
}

void pack_panels(const PanelLayout& layout, const WeightSource& source, Share panels, std::byte* first_panel) {
  const std::size_t row_bytes = source.type->row_bytes(source.inputs);
  const std::size_t blocks = source.inputs / source.type->block_size;
  for (std::size_t p = panels.begin; p < panels.end; ++p) {
    const std::size_t output = p * kPanelOutputs;
    Rows rows{source.bytes.data() + output * row_bytes, row_bytes, std::min(kPanelOutputs, source.outputs - output)};
    std::byte* to = first_panel + p * panel_bytes(*source.type, source.inputs);
    for (std::size_t b = 0; b < blocks; ++b, rows.first += source.type->block_bytes) to = pack_block(layout, rows, to);
  }
}

}  // namespace plm
