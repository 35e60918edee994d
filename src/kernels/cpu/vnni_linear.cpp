// Products of rounded activations with quantised weights by the integer dot product of AVX-512 VNNI: four unsigned
// bytes of a weight (a quad of a panel) times four signed bytes of an activation, added to a whole number, for 16
// output rows at once. A level of an activation is two signed bytes, 256 * high + low; both planes are summed exactly,
// so the result is that of every other target (kernels/cpu/simd_integer_linear.cpp has the portable form and says
// more).
//
// Not Highway, whose version 1.0 has no such operation: each function names its instruction sets, and the table is used
// only where the processor has them. Tested by tests/kernels/cpu/test_integer_linear.cpp where it can run, and
// everywhere by tests/kernels/cpu/test_vnni_linear.cpp, which compiles this file with emulated instructions.
#include "kernels/cpu/kernel_table.h"

#if defined(__x86_64__)

#include <cstring>
#include <limits>
#include <utility>

#include "kernels/cpu/panel_product.h"

#ifdef PLM_VNNI_EMULATED
#define PLM_VNNI
#else
#include <immintrin.h>
#define PLM_VNNI __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define PLM_VNNI_NAMESPACE vnni
#endif
#define PLM_VNNI_INLINE PLM_VNNI __attribute__((always_inline)) inline

namespace plm::PLM_VNNI_NAMESPACE {
namespace {

constexpr std::size_t kWordBytes = 4 * kPanelOutputs;  // a vector: one word of 16 rows
constexpr std::size_t kPrefetchBytes = 4096;

// ---- Reading panels, as in simd_panels-inl.h

template <int Bits, std::size_t Quad>
PLM_VNNI_INLINE __m512i plane_quad(const std::byte* plane) {
  constexpr auto kWords = static_cast<std::size_t>(Bits);
  constexpr int kShift = static_cast<int>(Quad / kWords) * Bits;
  __m512i words = _mm512_loadu_si512(plane + Quad % kWords * kWordBytes);
  if constexpr (Bits == 8) return words;
  if constexpr (kShift > 0) words = _mm512_srli_epi32(words, kShift);
  return _mm512_and_si512(words, _mm512_set1_epi8(static_cast<char>((1U << Bits) - 1)));
}

/// Unsigned levels, bias included, of inputs 4 * Quad ... of 16 rows.
template <const PanelForm& Form, std::size_t Quad>
PLM_VNNI_INLINE __m512i quad_of(const std::byte* planes) {
  constexpr int kHigh = Form.bits == 3 || Form.bits == 5 ? 1 : Form.bits == 6 ? 2 : 0;
  constexpr int kLow = Form.bits - kHigh;
  __m512i levels = plane_quad<kLow, Quad>(planes);
  if constexpr (kHigh > 0) {
    const __m512i high = plane_quad<kHigh, Quad>(planes + static_cast<std::size_t>(kLow) * kWordBytes);
    levels = _mm512_or_si512(levels, _mm512_slli_epi32(high, kLow));
  }
  if constexpr (Form.lookup != LevelLookup::none) {
    const auto* table = reinterpret_cast<const __m128i*>(level_table(Form.lookup).data());
    levels = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(table)), levels);
  }
  return levels;
}

PLM_VNNI_INLINE __m128i load_bytes(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

template <const PanelForm& Form>
PLM_VNNI_INLINE __m512 load_units(const std::byte* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  if constexpr (Form.wide_units) return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  return _mm512_cvtph_ps(bits);
}

struct Scales {
  __m512 scale;
  __m512 offset;
};

template <const PanelForm& Form>
PLM_VNNI_INLINE Scales scales_of(const std::byte* units, const std::byte* part, std::size_t group) {
  constexpr auto kGroups = static_cast<std::size_t>(Form.groups);
  Scales scales{load_units<Form>(units), _mm512_setzero_ps()};
  if constexpr (Form.has_offsets()) scales.offset = load_units<Form>(units + 2 * kPanelOutputs);
  const std::byte* bytes = part + group * kPanelOutputs;
  if constexpr (Form.scales == ScaleForm::half_bytes_offset) {
    const __m512i both = _mm512_cvtepu8_epi32(load_bytes(bytes));
    const __m512i lower = _mm512_and_si512(both, _mm512_set1_epi32(15));
    const __m512i upper = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_srli_epi32(both, 4));
    scales.scale = _mm512_mul_ps(scales.scale, _mm512_cvtepi32_ps(lower));
    scales.offset = _mm512_mul_ps(scales.offset, _mm512_cvtepi32_ps(upper));
  }
  if constexpr (Form.scales == ScaleForm::bytes || Form.scales == ScaleForm::bytes_offset) {
    scales.scale = _mm512_mul_ps(scales.scale, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_bytes(bytes))));
  }
  if constexpr (Form.scales == ScaleForm::bytes_offset) {
    const __m512i levels = _mm512_cvtepi8_epi32(load_bytes(bytes + kGroups * kPanelOutputs));
    scales.offset = _mm512_mul_ps(scales.offset, _mm512_cvtepi32_ps(levels));
  }
  return scales;
}

// ---- Activations: a part is 32 high bytes, then 32 low bytes

/// Four consecutive bytes in every word.
PLM_VNNI_INLINE __m512i broadcast_quad(const std::int8_t* bytes) {
  std::int32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return _mm512_set1_epi32(word);
}

/// The planes of a part of an activation row.
struct InputPlanes {
  const std::int8_t* high;
  const std::int8_t* low;

  InputPlanes(const RoundedRows& rows, std::size_t row, std::size_t part)
      : high(reinterpret_cast<const std::int8_t*>(rows.levels_at(row, part))), low(high + kPartInputs) {}
};

/// Sums of the products with high and with low bytes.
struct PlaneSums {
  __m512i high, low;
};

/// sum + what one group of a part adds to it: the exact product, scaled, and the offset times the sum of levels.
template <std::size_t Groups, bool HasOffsets>
PLM_VNNI_INLINE __m512 add_group(const PlaneSums& planes, int bias, const RoundedPart& x, std::size_t group,
                                 const Scales& scales, __m512 sum) {
  const __m512i both = _mm512_add_epi32(_mm512_slli_epi32(planes.high, 8), planes.low);
  const __m512i excess = _mm512_set1_epi32(bias * x.group_sum<Groups>(group));
  const __m512 product = _mm512_cvtepi32_ps(_mm512_sub_epi32(both, excess));
  sum = _mm512_fmadd_ps(product, _mm512_mul_ps(scales.scale, _mm512_set1_ps(x.scale)), sum);
  if constexpr (HasOffsets) {
    sum = _mm512_fmadd_ps(scales.offset, _mm512_set1_ps(x.scaled_group_sum<Groups>(group)), sum);
  }
  return sum;
}

// ---- One row

template <const PanelForm& Form, std::size_t FirstQuad, std::size_t... I>
PLM_VNNI_INLINE PlaneSums multiply_quads(const std::byte* planes, const InputPlanes& x, std::index_sequence<I...>) {
  PlaneSums sums{_mm512_setzero_si512(), _mm512_setzero_si512()};
  const __m512i quads[] = {quad_of<Form, FirstQuad + I>(planes)...};
  ((sums.high = _mm512_dpbusd_epi32(sums.high, quads[I], broadcast_quad(x.high + 4 * (FirstQuad + I)))), ...);
  ((sums.low = _mm512_dpbusd_epi32(sums.low, quads[I], broadcast_quad(x.low + 4 * (FirstQuad + I)))), ...);
  return sums;
}

/// One part of one panel: where it lies, with its units.
struct PanelPart {
  const std::byte* units;
  const std::byte* bytes;
};
template <const PanelForm& Form>
PLM_VNNI_INLINE PanelPart panel_part(const PanelPlace& panel, std::size_t part) {
  return {panel.units + part / static_cast<std::size_t>(Form.unit_parts) * Form.unit_bytes(),
          panel.parts + part * Form.part_bytes()};
}

template <const PanelForm& Form, std::size_t Group>
PLM_VNNI_INLINE __m512 multiply_group(const PanelPart& part, const InputPlanes& planes, const RoundedPart& x,
                                      __m512 sum) {
  constexpr auto kGroups = static_cast<std::size_t>(Form.groups);
  constexpr std::size_t kQuads = kPartQuads / kGroups;
  const PlaneSums sums =
      multiply_quads<Form, Group * kQuads>(part.bytes + Form.scale_bytes(), planes, std::make_index_sequence<kQuads>());
  return add_group<kGroups, Form.has_offsets()>(sums, Form.bias, x, Group,
                                                scales_of<Form>(part.units, part.bytes, Group), sum);
}

/// Panels p ... p + Panels - 1.
template <const PanelForm& Form, std::size_t Panels>
PLM_VNNI void multiply_row(const PanelProduct& product, const RoundedRows& in, std::size_t p) {
  __m512 sums[Panels];
  PanelPlace places[Panels];
  for (std::size_t i = 0; i < Panels; ++i) {
    places[i] = product.place(p + i);
    sums[i] = _mm512_setzero_ps();
  }
  for (std::size_t part = 0; part < product.parts(); ++part) {
    const InputPlanes planes(in, 0, part);
    const RoundedPart& x = in.part_at(0, part);
    for (std::size_t i = 0; i < Panels; ++i) {
      const PanelPart at = panel_part<Form>(places[i], part);
      for (std::size_t byte = 0; byte < Form.part_bytes(); byte += 64) {
        __builtin_prefetch(at.bytes + kPrefetchBytes + byte);
      }
      sums[i] = multiply_group<Form, 0>(at, planes, x, sums[i]);
      if constexpr (Form.groups == 2) sums[i] = multiply_group<Form, 1>(at, planes, x, sums[i]);
    }
  }
  for (std::size_t i = 0; i < Panels; ++i) {
    alignas(64) float stored[kPanelOutputs];
    _mm512_store_ps(stored, sums[i]);
    product.finish(p + i, 0, stored);
  }
}

// ---- Many rows

constexpr std::size_t kTileRows = 6;  // with two panels and two planes: 24 sums
constexpr std::size_t kTilePanels = 2;
constexpr std::size_t kRowChunk = 192;   // rows whose sums are kept at a time
constexpr std::size_t kRangeParts = 16;  // parts unpacked at a time: 12 KiB a panel

struct alignas(64) UnpackedPart {
  std::uint8_t levels[kPartQuads][kWordBytes];
  float scales[2][kPanelOutputs];
  float offsets[2][kPanelOutputs];
};

template <const PanelForm& Form, std::size_t... Q>
PLM_VNNI_INLINE void unpack_quads(const std::byte* planes, UnpackedPart& to, std::index_sequence<Q...>) {
  const __m512i quads[] = {quad_of<Form, Q>(planes)...};
  (_mm512_store_si512(to.levels[Q], quads[Q]), ...);
}

template <const PanelForm& Form>
PLM_VNNI void unpack_parts(const PanelPlace& panel, std::size_t first, std::size_t count, UnpackedPart* parts) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* part = panel.parts + (first + i) * Form.part_bytes();
    const std::byte* units = panel.units + (first + i) / static_cast<std::size_t>(Form.unit_parts) * Form.unit_bytes();
    unpack_quads<Form>(part + Form.scale_bytes(), parts[i], std::make_index_sequence<kPartQuads>());
    for (std::size_t g = 0; g < static_cast<std::size_t>(Form.groups); ++g) {
      const Scales scales = scales_of<Form>(units, part, g);
      _mm512_store_ps(parts[i].scales[g], scales.scale);
      _mm512_store_ps(parts[i].offsets[g], scales.offset);
    }
  }
}

struct Tile {
  const UnpackedPart* panels[kTilePanels];
  std::size_t part_count;
  RoundedRows in;
  std::size_t first_row;
  std::size_t first_part;
  int bias;
  float* sums;  ///< [rows][kTilePanels][16]
};

/// Adds the part's quads [begin, end) to the sums of both planes.
template <std::size_t Rows, std::size_t Panels>
PLM_VNNI_INLINE void multiply_part(const Tile& tile, std::size_t part, Share quads, PlaneSums (&sums)[Rows][Panels]) {
  const InputPlanes x(tile.in, tile.first_row, tile.first_part + part);
  const std::size_t stride = tile.in.part_count * kPartInputs * sizeof(std::int16_t);
  for (std::size_t q = quads.begin; q < quads.end; ++q) {
    __m512i w[Panels];
#pragma GCC unroll 2
    for (std::size_t i = 0; i < Panels; ++i) w[i] = _mm512_load_si512(tile.panels[i][part].levels[q]);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < Rows; ++r) {
      const __m512i high = broadcast_quad(x.high + r * stride + 4 * q);
      const __m512i low = broadcast_quad(x.low + r * stride + 4 * q);
#pragma GCC unroll 2
      for (std::size_t i = 0; i < Panels; ++i) {
        sums[r][i].high = _mm512_dpbusd_epi32(sums[r][i].high, w[i], high);
        sums[r][i].low = _mm512_dpbusd_epi32(sums[r][i].low, w[i], low);
      }
    }
  }
}

template <std::size_t Rows, std::size_t Panels, std::size_t Groups, bool HasOffsets>
PLM_VNNI void multiply_tile(const Tile& tile) {
  constexpr std::size_t kQuads = kPartQuads / Groups;
  for (std::size_t part = 0; part < tile.part_count; ++part) {
    for (std::size_t group = 0; group < Groups; ++group) {
      PlaneSums sums[Rows][Panels];
#pragma GCC unroll 6
      for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
        for (std::size_t i = 0; i < Panels; ++i) sums[r][i] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
      }
      multiply_part<Rows, Panels>(tile, part, {group * kQuads, (group + 1) * kQuads}, sums);
#pragma GCC unroll 6
      for (std::size_t r = 0; r < Rows; ++r) {
        const RoundedPart& x = tile.in.part_at(tile.first_row + r, tile.first_part + part);
#pragma GCC unroll 2
        for (std::size_t i = 0; i < Panels; ++i) {
          const UnpackedPart& unpacked = tile.panels[i][part];
          const Scales scales{_mm512_load_ps(unpacked.scales[group]), _mm512_load_ps(unpacked.offsets[group])};
          float* to = tile.sums + (r * kTilePanels + i) * kPanelOutputs;
          const __m512 before = _mm512_load_ps(to);
          const __m512 after = add_group<Groups, HasOffsets>(sums[r][i], tile.bias, x, group, scales, before);
          _mm512_store_ps(to, after);
        }
      }
    }
  }
}

using TileFunction = void (*)(const Tile&);

/// The tile of that many rows, 1 <= rows <= kTileRows.
template <std::size_t Panels, std::size_t Groups, bool HasOffsets, std::size_t... Counts>
TileFunction tile_of(std::size_t rows, std::index_sequence<Counts...>) {
  static constexpr TileFunction kTiles[] = {multiply_tile<Counts + 1, Panels, Groups, HasOffsets>...};
  return kTiles[rows - 1];
}

/// Panels p ... p + Panels - 1: rows are cut into tiles of nearly equal height.
template <const PanelForm& Form, std::size_t Panels>
PLM_VNNI void multiply_chunk(const PanelProduct& product, const RoundedRows& in, std::size_t p, Share rows) {
  static_assert(Panels <= kTilePanels);
  UnpackedPart unpacked[Panels][kRangeParts];
  alignas(64) float sums[kRowChunk][kTilePanels][kPanelOutputs];
  const std::size_t count = rows.end - rows.begin;
  std::memset(sums, 0, count * sizeof sums[0]);
  const auto tiles = static_cast<int>((count + kTileRows - 1) / kTileRows);
  for (std::size_t first = 0; first < product.parts(); first += kRangeParts) {
    const std::size_t part_count = std::min(kRangeParts, product.parts() - first);
    for (std::size_t i = 0; i < Panels; ++i) unpack_parts<Form>(product.place(p + i), first, part_count, unpacked[i]);
    for (int t = 0; t < tiles; ++t) {
      const Share tile = share_of(count, t, tiles);
      const auto multiply = tile_of<Panels, static_cast<std::size_t>(Form.groups), Form.has_offsets()>(
          tile.end - tile.begin, std::make_index_sequence<kTileRows>());
      multiply({.panels = {unpacked[0], unpacked[Panels - 1]},
                .part_count = part_count,
                .in = in,
                .first_row = rows.begin + tile.begin,
                .first_part = first,
                .bias = Form.bias,
                .sums = sums[tile.begin][0]});
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < Panels; ++i) product.finish(p + i, rows.begin + r, sums[r][i]);
  }
}

template <const PanelForm& Form>
void multiply(const IntegerLinearWork& work, Share panels) {
  const PanelProduct product(work);
  if (work.in.rows == 1) {
    std::size_t p = panels.begin;
    for (; p + 2 <= panels.end; p += 2) multiply_row<Form, 2>(product, work.in, p);
    for (; p < panels.end; ++p) multiply_row<Form, 1>(product, work.in, p);
    return;
  }
  for (std::size_t first = 0; first < work.in.rows; first += kRowChunk) {
    const Share rows{first, std::min(first + kRowChunk, work.in.rows)};
    std::size_t p = panels.begin;
    for (; p + kTilePanels <= panels.end; p += kTilePanels)
      multiply_chunk<Form, kTilePanels>(product, work.in, p, rows);
    for (; p < panels.end; ++p) multiply_chunk<Form, 1>(product, work.in, p, rows);
  }
}

}  // namespace

bool is_usable() {
#ifdef PLM_VNNI_EMULATED
  return true;
#else
  return __builtin_cpu_supports("avx512vnni") != 0;
#endif
}

/// The plain rounding, then every level cut into its two bytes.
void round(const RoundWork& work, Share rows) {
  reference::round(work, rows);
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    for (std::size_t p = 0; p < work.out.part_count; ++p) {
      std::int16_t* levels = work.out.levels_at(r, p);
      std::int8_t bytes[2][kPartInputs];
      for (std::size_t i = 0; i < kPartInputs; ++i) {
        const int high = (levels[i] + 128) >> 8;
        bytes[0][i] = static_cast<std::int8_t>(high);
        bytes[1][i] = static_cast<std::int8_t>(levels[i] - 256 * high);
      }
      std::memcpy(levels, bytes, sizeof bytes);
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

}  // namespace plm::PLM_VNNI_NAMESPACE

#else

namespace plm::vnni {
bool is_usable() { return false; }
void round(const RoundWork& work, Share rows) { reference::round(work, rows); }
void integer_linear(const IntegerLinearWork& work, Share outputs) { reference::integer_linear(work, outputs); }
}  // namespace plm::vnni

#endif
