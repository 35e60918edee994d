// Vectorised matrix products over panels (kernels/cpu/panel.h) with float32 activations: a SIMD lane is an output row,
// so every lane follows the tree of kernels/device.h by itself and neither the width of the vectors nor the shape of a
// tile changes a bit.
//
// One row of a plain type (decoding): weights are used as they are loaded; two panels are walked side by side, because
// one chain of fused multiply-adds alone waits for its own latency. Else a range of a panel is unpacked into the
// first-level cache and multiplied with tiles of rows that keep their partial sums in registers. Tested by
// tests/kernels/cpu/test_linear.cpp; measured by bench/bench_linear.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_linear.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd_panels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
namespace {

/// Input rows, `stride` numbers apart, whose columns are the inputs of a run of whole parts.
struct InputRows {
  const float* data;
  std::size_t stride;
};

/// The activations. Inputs that do not fill their last part are copied to `tail` with zeros behind, which add nothing
/// to a sum.
struct Inputs {
  Floats rows;
  std::size_t full_parts;
  std::vector<float> tail;  ///< [rows, kPartInputs] or empty

  explicit Inputs(const Floats& in) : rows(in), full_parts(in.columns / kPartInputs) {
    const std::size_t rest = in.columns % kPartInputs;
    if (rest == 0) return;
    tail.resize(in.rows * kPartInputs);
    for (std::size_t r = 0; r < in.rows; ++r) {
      std::memcpy(tail.data() + r * kPartInputs, in.row(r) + full_parts * kPartInputs, rest * sizeof(float));
    }
  }

  [[nodiscard]] InputRows at(std::size_t row, std::size_t part) const {
    if (part < full_parts) return {rows.row(row) + part * kPartInputs, rows.stride};
    return {tail.data() + row * kPartInputs, kPartInputs};
  }
};

// ---- One row

/// Panels p ... p + Panels - 1.
template <const PanelForm& Form, std::size_t Panels>
HWY_INLINE void multiply_row(const PanelProduct& product, const Inputs& inputs, std::size_t p) {
  const FloatTag d;
  constexpr std::size_t kWidth = Panels * kVectors;
  HWY_ALIGN float sums[Panels * kPanelOutputs] = {};
  PanelPlace places[Panels];
  for (std::size_t i = 0; i < Panels; ++i) places[i] = product.place(p + i);
  for (std::size_t part = 0; part < product.parts(); ++part) {
    const float* x = inputs.at(0, part).data;
    Reader<Form> readers[kWidth];
    Floatv partial[kWidth];
    PLM_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) {
      readers[v] = Reader<Form>(places[v / kVectors], part, v % kVectors * kLanes);
      partial[v] = hn::Zero(d);
    }
    for_each_constant<kPartQuads>([&]<std::size_t Quad>() HWY_ATTR __attribute__((always_inline)) {
      decltype(readers[0].template fetch<Quad>()) fetched[kWidth];
      PLM_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) fetched[v] = readers[v].template fetch<Quad>();
      for_each_constant<4>([&]<std::size_t K>() HWY_ATTR __attribute__((always_inline)) {
        const Floatv input = hn::Set(d, x[4 * Quad + K]);
        PLM_UNROLL
        for (std::size_t v = 0; v < kWidth; ++v) {
          partial[v] = hn::MulAdd(Reader<Form>::template weight<K>(fetched[v]), input, partial[v]);
        }
      });
    });
    PLM_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) {
      hn::Store(hn::Add(hn::Load(d, sums + v * kLanes), partial[v]), d, sums + v * kLanes);
    }
  }
  for (std::size_t i = 0; i < Panels; ++i) product.finish(p + i, 0, sums + i * kPanelOutputs);
}

// ---- Many rows

constexpr std::size_t kTileRows = kLanes >= 16 ? 12 : kLanes == 8 ? 6 : 2;  // what the vector registers hold
constexpr std::size_t kRowChunk = 192;                                      // rows whose sums are kept at a time
constexpr std::size_t kRangeParts = 8;                                      // parts unpacked at a time: 16 KiB

template <const PanelForm& Form>
void unpack_parts(const PanelPlace& panel, std::size_t first, std::size_t count, float* weights) {
  for (std::size_t part = 0; part < count; ++part) {
    PLM_KEEP_LOOP
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Reader<Form> reader(panel, first + part, v * kLanes);
      float* to = weights + part * kPartInputs * kPanelOutputs + v * kLanes;
      for_each_constant<kPartQuads>([&]<std::size_t Quad>() HWY_ATTR __attribute__((always_inline)) {
        const auto fetched = reader.template fetch<Quad>();
        for_each_constant<4>([&]<std::size_t K>() HWY_ATTR __attribute__((always_inline)) {
          hn::Store(reader.template weight<K>(fetched), FloatTag(), to + (4 * Quad + K) * kPanelOutputs);
        });
      });
    }
  }
}

/// Adds `parts` parts to the sums of `Rows` rows: weights [parts * 32][16], sums [Rows][16].
template <std::size_t Rows>
void multiply_tile(const float* weights, std::size_t parts, InputRows in, float* sums) {
  const FloatTag d;
  for (std::size_t part = 0; part < parts; ++part) {
    Floatv partial[Rows][kVectors];
    PLM_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      PLM_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) partial[r][v] = hn::Zero(d);
    }
    PLM_KEEP_LOOP
    for (std::size_t k = part * kPartInputs; k < (part + 1) * kPartInputs; ++k) {
      Floatv w[kVectors];
      PLM_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) w[v] = hn::Load(d, weights + k * kPanelOutputs + v * kLanes);
      PLM_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) {
        const Floatv x = hn::Set(d, in.data[r * in.stride + k]);
        PLM_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) partial[r][v] = hn::MulAdd(w[v], x, partial[r][v]);
      }
    }
    PLM_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      PLM_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        float* sum = sums + r * kPanelOutputs + v * kLanes;
        hn::Store(hn::Add(hn::Load(d, sum), partial[r][v]), d, sum);
      }
    }
  }
}

using TileFunction = void (*)(const float*, std::size_t, InputRows, float*);

/// The tile of that many rows, 1 <= rows <= kTileRows.
template <std::size_t... Counts>
TileFunction tile_of(std::size_t rows, std::index_sequence<Counts...>) {
  static constexpr TileFunction kTiles[] = {multiply_tile<Counts + 1>...};
  return kTiles[rows - 1];
}

/// Rows [first, first + rows) of panel p: rows are cut into tiles of nearly equal height.
template <const PanelForm& Form>
void multiply_chunk(const PanelProduct& product, const Inputs& inputs, std::size_t p, Share rows) {
  HWY_ALIGN float weights[kRangeParts * kPartInputs * kPanelOutputs];
  HWY_ALIGN float sums[kRowChunk * kPanelOutputs];
  const std::size_t count = rows.end - rows.begin;
  std::fill_n(sums, count * kPanelOutputs, 0.0F);
  const auto tiles = static_cast<int>((count + kTileRows - 1) / kTileRows);
  for (std::size_t part = 0; part < product.parts();) {
    const std::size_t full = inputs.full_parts - std::min(part, inputs.full_parts);
    const std::size_t parts = full > 0 ? std::min(full, kRangeParts) : 1;
    unpack_parts<Form>(product.place(p), part, parts, weights);
    for (int t = 0; t < tiles; ++t) {
      const Share tile = share_of(count, t, tiles);
      const auto multiply = tile_of(tile.end - tile.begin, std::make_index_sequence<kTileRows>());
      multiply(weights, parts, inputs.at(rows.begin + tile.begin, part), sums + tile.begin * kPanelOutputs);
    }
    part += parts;
  }
  for (std::size_t r = 0; r < count; ++r) product.finish(p, rows.begin + r, sums + r * kPanelOutputs);
}

template <const PanelForm& Form>
void multiply(const LinearWork& work, Share panels) {
  const PanelProduct product(work);
  const Inputs inputs(work.in);
  if constexpr (Form.is_plain()) {
    if (work.in.rows == 1) {
      constexpr std::size_t kPanels = kVectors <= 2 ? 2 : 1;  // at a time
      std::size_t p = panels.begin;
      for (; p + kPanels <= panels.end; p += kPanels) multiply_row<Form, kPanels>(product, inputs, p);
      for (; p < panels.end; ++p) multiply_row<Form, 1>(product, inputs, p);
      return;
    }
  }
  for (std::size_t first = 0; first < work.in.rows; first += kRowChunk) {
    const Share rows{first, std::min(first + kRowChunk, work.in.rows)};
    for (std::size_t p = panels.begin; p < panels.end; ++p) multiply_chunk<Form>(product, inputs, p, rows);
  }
}

}  // namespace

void linear(const LinearWork& work, Share outputs) {
  const PanelType* panel = work.weight->panel;
  if (panel == nullptr) return reference::linear(work, outputs);
  const Share panels{outputs.begin / kPanelOutputs, panel_count(outputs.end)};
  using namespace panel_forms;
  switch (panel->kind) {
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
    case PanelKind::f32: return multiply<kF32>(work, panels);
    case PanelKind::f16: return multiply<kF16>(work, panels);
    case PanelKind::bf16: return multiply<kBf16>(work, panels);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(linear);
void set_simd_linear(KernelTable& table) { table.linear = &HWY_DYNAMIC_DISPATCH(linear); }
}  // namespace plm
#endif
