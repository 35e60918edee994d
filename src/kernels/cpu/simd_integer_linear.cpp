// Vectorised products of rounded activations with quantised weights: pairs of 16-bit numbers are multiplied and added
// to whole numbers (pmaddwd on x86). A SIMD lane is an output row and sums within a part are exact, so only the order
// of the parts decides a row's bits.
//
// A quad's bytes are taken apart into words of inputs (0, 2) and (1, 3); activations are stored in that order, so that
// one broadcast meets one word. One row: weights are unpacked in registers. More rows: a range of a panel is unpacked
// into the first-level cache and multiplied with tiles of rows. Tested by tests/kernels/cpu/test_integer_linear.cpp;
// measured by bench/bench_linear.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_integer_linear.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd_panels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kPairs = kPartInputs / 2;  // of inputs in a part
constexpr std::size_t kPrefetchBytes = 4096;     // how far ahead of the part in use

using Int16Tag = hn::Repartition<std::int16_t, FloatTag>;
using Int16v = hn::Vec<Int16Tag>;

/// sum + a[2i] * b[2i] + a[2i + 1] * b[2i + 1] in lane i.
HWY_INLINE Int32v add_products(Int16v a, Int16v b, Int32v sum) {
#if HWY_ARCH_X86
  Int32v unused = hn::Zero(Int32Tag());
  return hn::ReorderWidenMulAccumulate(Int32Tag(), a, b, sum, unused);
#else
  const Int32v a32 = hn::BitCast(Int32Tag(), a), b32 = hn::BitCast(Int32Tag(), b);
  const Int32v even = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a32)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b32)));
  const Int32v odd = hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32));
  return hn::Add(sum, hn::Add(even, odd));
#endif
}

/// Bytes 0 and 2 of every word as 16-bit numbers.
HWY_INLINE Int16v even_bytes(Uint32v words) { return hn::BitCast(Int16Tag(), and_words(words, 0x00ff00ff)); }
/// Bytes 1 and 3.
HWY_INLINE Int16v odd_bytes(Uint32v words) {
  const hn::Repartition<std::uint16_t, FloatTag> d;
  return hn::BitCast(Int16Tag(), hn::ShiftRight<8>(hn::BitCast(d, words)));
}
/// Two consecutive levels in every lane.
HWY_INLINE Int16v broadcast_pair(const std::int16_t* levels) {
  std::int32_t pair;
  std::memcpy(&pair, levels, sizeof pair);
  return hn::BitCast(Int16Tag(), hn::Set(Int32Tag(), pair));
}

// ---- One row

/// Panels p ... p + Panels - 1.
template <const PanelForm& Form, std::size_t Panels>
HWY_INLINE void multiply_row(const PanelProduct& product, const RoundedRows& in, std::size_t p) {
  const FloatTag d;
  constexpr std::size_t kWidth = Panels * kVectors;
  constexpr auto kGroups = static_cast<std::size_t>(Form.groups);
  constexpr std::size_t kGroupQuads = kPartQuads / kGroups;
  PanelPlace places[Panels];
  for (std::size_t i = 0; i < Panels; ++i) places[i] = product.place(p + i);
  Floatv sums[kWidth];
  PLM_UNROLL
  for (std::size_t v = 0; v < kWidth; ++v) sums[v] = hn::Zero(d);
  for (std::size_t part = 0; part < product.parts(); ++part) {
    const std::int16_t* x = in.levels_at(0, part);
    const RoundedPart& x_part = in.part_at(0, part);
    const Floatv x_scale = hn::Set(d, x_part.scale);
    QuantReader<Form> readers[kWidth];
    PLM_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) {
      readers[v] = QuantReader<Form>(places[v / kVectors], part, v % kVectors * kLanes);
    }
    for (std::size_t i = 0; i < Panels; ++i) {
      for (std::size_t byte = 0; byte < Form.part_bytes(); byte += 64) {
        hwy::Prefetch(places[i].parts + part * Form.part_bytes() + kPrefetchBytes + byte);
      }
    }
    for_each_constant<kGroups>([&]<std::size_t Group>() HWY_ATTR __attribute__((always_inline)) {
      Int32v product_sums[kWidth];
      PLM_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) product_sums[v] = hn::Zero(Int32Tag());
      for_each_constant<kGroupQuads>([&]<std::size_t I>() HWY_ATTR __attribute__((always_inline)) {
        constexpr std::size_t kQuad = Group * kGroupQuads + I;
        const Int16v even = broadcast_pair(x + 4 * kQuad), odd = broadcast_pair(x + 4 * kQuad + 2);
        PLM_UNROLL
        for (std::size_t v = 0; v < kWidth; ++v) {
          const Uint32v bytes = readers[v].template quad<kQuad>();
          product_sums[v] = add_products(even_bytes(bytes), even, product_sums[v]);
          product_sums[v] = add_products(odd_bytes(bytes), odd, product_sums[v]);
        }
      });
      const Int32v excess = hn::Set(Int32Tag(), Form.bias * x_part.group_sum<kGroups>(Group));
      const Floatv scaled_sum = hn::Set(d, x_part.scaled_group_sum<kGroups>(Group));
      PLM_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) {
        if constexpr (Form.bias != 0) product_sums[v] = hn::Sub(product_sums[v], excess);
        const Floatv scale = hn::Mul(readers[v].template scale<Group>(), x_scale);
        sums[v] = hn::MulAdd(hn::ConvertTo(d, product_sums[v]), scale, sums[v]);
        if constexpr (Form.has_offsets()) {
          sums[v] = hn::MulAdd(readers[v].template offset<Group>(), scaled_sum, sums[v]);
        }
      }
    });
  }
  HWY_ALIGN float stored[Panels * kPanelOutputs];
  for (std::size_t v = 0; v < kWidth; ++v) hn::Store(sums[v], d, stored + v * kLanes);
  for (std::size_t i = 0; i < Panels; ++i) product.finish(p + i, 0, stored + i * kPanelOutputs);
}

// ---- Many rows

// Rows whose sums stay in vector registers, with room for the products that are added to them.
constexpr std::size_t kTileRows = kLanes >= 16 ? 12 : kLanes == 8 ? 4 : 2;
constexpr std::size_t kRowChunk = 192;  // rows whose sums are kept at a time
constexpr std::size_t kRangeParts = 8;  // parts unpacked at a time: 9 KiB
constexpr std::size_t kMostGroupsOfPart = 2;

/// One part of a panel, unpacked: signed levels as pairs of inputs, and scales, 16 output rows each.
struct UnpackedPart {
  HWY_ALIGN std::int16_t levels[kPairs][kPanelOutputs][2];
  HWY_ALIGN float scales[kMostGroupsOfPart][kPanelOutputs];
  HWY_ALIGN float offsets[kMostGroupsOfPart][kPanelOutputs];
};

template <const PanelForm& Form>
void unpack_parts(const PanelPlace& panel, std::size_t first, std::size_t count, UnpackedPart* parts) {
  const FloatTag d;
  const Int16v bias = hn::Set(Int16Tag(), static_cast<std::int16_t>(Form.bias));
  for (std::size_t i = 0; i < count; ++i) {
    UnpackedPart& to = parts[i];
    PLM_KEEP_LOOP
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t lane = v * kLanes;
      const QuantReader<Form> reader(panel, first + i, lane);
      for_each_constant<kPartQuads>([&]<std::size_t Quad>() HWY_ATTR __attribute__((always_inline)) {
        const Uint32v bytes = reader.template quad<Quad>();
        hn::Store(hn::Sub(even_bytes(bytes), bias), Int16Tag(), to.levels[2 * Quad][lane]);
        hn::Store(hn::Sub(odd_bytes(bytes), bias), Int16Tag(), to.levels[2 * Quad + 1][lane]);
      });
      for_each_constant<static_cast<std::size_t>(Form.groups)>([&]<std::size_t Group>() HWY_ATTR __attribute__((
          always_inline)) {
        hn::Store(reader.template scale<Group>(), d, to.scales[Group] + lane);
        if constexpr (Form.has_offsets()) hn::Store(reader.template offset<Group>(), d, to.offsets[Group] + lane);
      });
    }
  }
}

/// Parts of a weight and the rows that they meet.
struct Tile {
  const UnpackedPart* parts;
  std::size_t part_count;
  RoundedRows in;
  std::size_t first_row;
  std::size_t first_part;
  float* sums;  ///< [rows of the tile, 16]
};

template <std::size_t Rows, std::size_t Groups, bool HasOffsets>
void multiply_tile(const Tile& tile) {
  const FloatTag d;
  constexpr std::size_t kGroupPairs = kPairs / Groups;
  const std::size_t stride = tile.in.part_count;  // parts from row to row
  const std::int16_t* x = tile.in.levels_at(tile.first_row, tile.first_part);
  const RoundedPart* x_part = &tile.in.part_at(tile.first_row, tile.first_part);
  for (std::size_t i = 0; i < tile.part_count; ++i, ++x_part) {
    const UnpackedPart& part = tile.parts[i];
    PLM_KEEP_LOOP
    for (std::size_t group = 0; group < Groups; ++group, x += 2 * kGroupPairs) {
      Int32v products[Rows][kVectors];
      PLM_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) {
        PLM_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) products[r][v] = hn::Zero(Int32Tag());
      }
      _Pragma("GCC unroll 4")  // else the compiler moves every sum from register to register each time
          for (std::size_t pair = 0; pair < kGroupPairs; ++pair) {
        Int16v w[kVectors];
        PLM_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          w[v] = hn::Load(Int16Tag(), part.levels[group * kGroupPairs + pair][v * kLanes]);
        }
        PLM_UNROLL
        for (std::size_t r = 0; r < Rows; ++r) {
          const Int16v x_pair = broadcast_pair(x + r * stride * kPartInputs + 2 * pair);
          PLM_UNROLL
          for (std::size_t v = 0; v < kVectors; ++v) products[r][v] = add_products(w[v], x_pair, products[r][v]);
        }
      }
      PLM_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) {
        const RoundedPart& row = x_part[r * stride];
        const Floatv x_scale = hn::Set(d, row.scale);
        const Floatv scaled_sum = hn::Set(d, row.scaled_group_sum<Groups>(group));
        PLM_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          float* to = tile.sums + r * kPanelOutputs + v * kLanes;
          const Floatv scale = hn::Mul(hn::Load(d, part.scales[group] + v * kLanes), x_scale);
          Floatv sum = hn::MulAdd(hn::ConvertTo(d, products[r][v]), scale, hn::Load(d, to));
          if constexpr (HasOffsets) sum = hn::MulAdd(hn::Load(d, part.offsets[group] + v * kLanes), scaled_sum, sum);
          hn::Store(sum, d, to);
        }
      }
    }
  }
}

using TileFunction = void (*)(const Tile&);

/// The tile of that many rows, 1 <= rows <= kTileRows.
template <std::size_t Groups, bool HasOffsets, std::size_t... Counts>
TileFunction tile_of(std::size_t rows, std::index_sequence<Counts...>) {
  static constexpr TileFunction kTiles[] = {multiply_tile<Counts + 1, Groups, HasOffsets>...};
  return kTiles[rows - 1];
}

/// Panels p ... p + Panels - 1: rows are cut into tiles of nearly equal height, each of which meets all the panels
/// while it lies in the first-level cache.
template <const PanelForm& Form, std::size_t Panels>
void multiply_chunk(const PanelProduct& product, const RoundedRows& in, std::size_t p, Share rows) {
  constexpr auto kGroups = static_cast<std::size_t>(Form.groups);
  UnpackedPart parts[Panels][kRangeParts];
  HWY_ALIGN float sums[Panels][kRowChunk * kPanelOutputs];
  const std::size_t count = rows.end - rows.begin;
  for (auto& panel_sums : sums) std::fill_n(panel_sums, count * kPanelOutputs, 0.0F);
  const auto tiles = static_cast<int>((count + kTileRows - 1) / kTileRows);
  for (std::size_t first = 0; first < product.parts(); first += kRangeParts) {
    const std::size_t part_count = std::min(kRangeParts, product.parts() - first);
    for (std::size_t i = 0; i < Panels; ++i) unpack_parts<Form>(product.place(p + i), first, part_count, parts[i]);
    for (int t = 0; t < tiles; ++t) {
      const Share tile = share_of(count, t, tiles);
      const auto multiply =
          tile_of<kGroups, Form.has_offsets()>(tile.end - tile.begin, std::make_index_sequence<kTileRows>());
      for (std::size_t i = 0; i < Panels; ++i) {
        multiply({parts[i], part_count, in, rows.begin + tile.begin, first, sums[i] + tile.begin * kPanelOutputs});
      }
    }
  }
  for (std::size_t i = 0; i < Panels; ++i) {
    for (std::size_t r = 0; r < count; ++r) product.finish(p + i, rows.begin + r, sums[i] + r * kPanelOutputs);
  }
}

template <const PanelForm& Form>
void multiply(const IntegerLinearWork& work, Share panels) {
  const PanelProduct product(work);
  if (work.in.rows == 1) {
    constexpr std::size_t kPanels = kVectors <= 2 ? 2 : 1;  // at a time
    std::size_t p = panels.begin;
    for (; p + kPanels <= panels.end; p += kPanels) multiply_row<Form, kPanels>(product, work.in, p);
    for (; p < panels.end; ++p) multiply_row<Form, 1>(product, work.in, p);
    return;
  }
  for (std::size_t first = 0; first < work.in.rows; first += kRowChunk) {
    const Share rows{first, std::min(first + kRowChunk, work.in.rows)};
    std::size_t p = panels.begin;
    for (; p + 2 <= panels.end; p += 2) multiply_chunk<Form, 2>(product, work.in, p, rows);
    for (; p < panels.end; ++p) multiply_chunk<Form, 1>(product, work.in, p, rows);
  }
}

// ---- Rounding

/// The levels of a part, in order; returns the scale.
HWY_INLINE float round_part(const float* x, int most, std::int32_t* levels) {
  const FloatTag d;
  Floatv largest = hn::Zero(d);
  bool is_finite = true;
  for (std::size_t i = 0; i < kPartInputs; i += kLanes) {
    const Floatv magnitude = hn::Abs(load(x + i));
    is_finite = is_finite && hn::AllTrue(d, hn::Lt(magnitude, hn::Inf(d)));  // false for NaN too
    largest = hn::Max(largest, magnitude);
  }
  const float peak = hn::GetLane(hn::MaxOfLanes(d, largest));
  const bool is_zero = !is_finite || peak < kLeastRounded;
  const Floatv inverse = hn::Set(d, is_zero ? 0 : static_cast<float>(most) / peak);
  for (std::size_t i = 0; i < kPartInputs; i += kLanes) {
    const Floatv scaled = is_zero ? hn::Zero(d) : hn::Mul(load(x + i), inverse);
    hn::Store(hn::NearestInt(scaled), Int32Tag(), levels + i);
  }
  if (!is_finite) return std::numeric_limits<float>::quiet_NaN();
  return is_zero ? 0 : peak / static_cast<float>(most);
}

}  // namespace

void round(const RoundWork& work, Share rows) {
  HWY_ALIGN std::int32_t levels[kPartInputs];
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    for (std::size_t p = 0; p < work.out.part_count; ++p) {
      const float scale = round_part(work.in.row(r) + p * kPartInputs, work.out.most, levels);
      work.out.part_at(r, p).set(scale, levels);
      std::int16_t* to = work.out.levels_at(r, p);
      for (std::size_t i = 0; i < kPartInputs; i += 4) {  // inputs (0, 2) and (1, 3) side by side
        to[i] = static_cast<std::int16_t>(levels[i]);
        to[i + 1] = static_cast<std::int16_t>(levels[i + 2]);
        to[i + 2] = static_cast<std::int16_t>(levels[i + 1]);
        to[i + 3] = static_cast<std::int16_t>(levels[i + 3]);
      }
    }
  }
}

void integer_linear(const IntegerLinearWork& work, Share outputs) {
  const Share panels{outputs.begin / kPanelOutputs, panel_count(outputs.end)};
  using namespace panel_forms;
  switch (work.weight->panel->kind) {
    case PanelKind::q2_k: return multiply<kQ2K>(work, panels);
    case PanelKind::q3_k: return multiply<kQ3K>(work, panels);
    case PanelKind::q4_0: return multiply<kQ4_0>(work, panels);
    case PanelKind::q4_1: return multiply<kQ4_1>(work, panels);
    case PanelKind::q4_k: return multiply<kQ4K>(work, panels);
    case PanelKind::q5_0: return multiply<kQ5_0>(work, panels);
    case PanelKind::q5_1: return multiply<kQ5_1>(work, panels);
    case PanelKind::q5_k: return multiply<kQ5K>(work, panels);
    case PanelKind::q6_k: return multiply<kQ6K>(work, panels);
    case PanelKind::q8_0: return multiply<kQ8_0>(work, panels);
    case PanelKind::iq4_nl: return multiply<kIq4Nl>(work, panels);
    case PanelKind::iq4_xs: return multiply<kIq4Xs>(work, panels);
    case PanelKind::mxfp4: return multiply<kMxfp4>(work, panels);
    case PanelKind::f32:
    case PanelKind::f16:
    case PanelKind::bf16: break;
  }
  PLM_CHECK(false);  // plain weights meet float32 activations
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(round);
HWY_EXPORT(integer_linear);
void set_simd_integer_linear(KernelTable& table) {
  table.round = &HWY_DYNAMIC_DISPATCH(round);
  table.integer_linear = &HWY_DYNAMIC_DISPATCH(integer_linear);
}
}  // namespace plm
#endif
