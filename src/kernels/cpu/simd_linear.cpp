// Vectorised matrix products over panels (kernels/cpu/panel.h): a SIMD lane is an output row, so every lane follows the
// tree of kernels/device.h by itself and neither the width of the vectors nor the shape of a tile changes a bit.
//
// Few rows (decoding): weights are unpacked in registers and used at once; two panels are walked side by side, because
// one chain of fused multiply-adds alone waits for its own latency. Many rows (prefill): a range of a panel is unpacked
// into the first-level cache and multiplied with tiles of rows that keep their partial sums in registers. Tested by
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

/// A weight and what is multiplied with it. Inputs that do not fill their last part are copied to `tail` with zeros
/// behind, which add nothing to a sum.
struct Product {
  const std::byte* panels;
  std::size_t panel_bytes;
  std::size_t full_parts;
  const Floats* in;
  const Floats* out;
  const float* bias;
  std::vector<float> tail;  ///< [in.rows, kPanelPart] or empty

  [[nodiscard]] std::size_t parts() const { return full_parts + (tail.empty() ? 0 : 1); }
  [[nodiscard]] const std::byte* panel(std::size_t p) const { return panels + p * panel_bytes; }
  [[nodiscard]] InputRows inputs(std::size_t row, std::size_t part) const {
    if (part < full_parts) return {in->row(row) + part * kPanelPart, in->stride};
    return {tail.data() + row * kPanelPart, kPanelPart};
  }

  /// Writes the sums of one panel and row, without the outputs that only pad the panel.
  void finish(std::size_t p, std::size_t row, const float* sums) const {
    const std::size_t first = p * kPanelOutputs;
    const std::size_t count = std::min(kPanelOutputs, out->columns - first);
    float* to = out->row(row) + first;
    for (std::size_t o = 0; o < count; ++o) to[o] = bias != nullptr ? sums[o] + bias[first + o] : sums[o];
  }
};

Product make_product(const LinearWork& work) {
  const CpuWeight& weight = *work.weight;
  Product product{.panels = weight.panels.data(),
                  .panel_bytes = panel_bytes(*weight.type, weight.inputs),
                  .full_parts = weight.inputs / kPanelPart,
                  .in = &work.in,
                  .out = &work.out,
                  .bias = work.bias,
                  .tail = {}};
  const std::size_t rest = weight.inputs % kPanelPart;
  if (rest == 0) return product;
  product.tail.resize(work.in.rows * kPanelPart);
  for (std::size_t r = 0; r < work.in.rows; ++r) {
    std::memcpy(product.tail.data() + r * kPanelPart, work.in.row(r) + product.full_parts * kPanelPart,
                rest * sizeof(float));
  }
  return product;
}

// ---- Few rows

/// Panels p ... p + Panels - 1 for all rows, of which there are `Rows`.
template <class Reader, std::size_t Rows, std::size_t Panels>
HWY_INLINE void multiply_few(const Product& product, std::size_t p) {
  const FloatTag d;
  constexpr std::size_t kWidth = Panels * kVectors;
  HWY_ALIGN float sums[Rows][Panels * kPanelOutputs] = {};
  for (std::size_t part = 0; part < product.parts(); ++part) {
    const InputRows in = product.inputs(0, part);
    Reader readers[kWidth];
    Floatv partial[Rows][kWidth];
    PLM_UNROLL
    for (std::size_t v = 0; v < kWidth; ++v) {
      readers[v] = Reader(PanelPlace{product.panel(p + v / kVectors), part, v % kVectors * kLanes});
      PLM_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) partial[r][v] = hn::Zero(d);
    }
    PLM_KEEP_LOOP
    for (std::size_t q = 0; q < kPanelPart / 4; ++q) {
      decltype(readers[0].quad(0)) quads[kWidth];
      PLM_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) quads[v] = readers[v].quad(q);
      PLM_UNROLL
      for (std::size_t k = 0; k < 4; ++k) {
        PLM_UNROLL
        for (std::size_t v = 0; v < kWidth; ++v) {
          const Floatv w = readers[v].weight(quads[v], k);
          PLM_UNROLL
          for (std::size_t r = 0; r < Rows; ++r) {
            const Floatv x = hn::Set(d, in.data[r * in.stride + 4 * q + k]);
            partial[r][v] = hn::MulAdd(w, x, partial[r][v]);
          }
        }
      }
    }
    PLM_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      PLM_UNROLL
      for (std::size_t v = 0; v < kWidth; ++v) {
        float* sum = sums[r] + v * kLanes;
        hn::Store(hn::Add(hn::Load(d, sum), partial[r][v]), d, sum);
      }
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t i = 0; i < Panels; ++i) product.finish(p + i, r, sums[r] + i * kPanelOutputs);
  }
}

template <class Reader, std::size_t Rows>
void multiply_few_rows(const Product& product, Share panels) {
  constexpr std::size_t kPanels = Rows <= 3 && kVectors <= 2 ? 2 : 1;  // at a time
  std::size_t p = panels.begin;
  for (; p + kPanels <= panels.end; p += kPanels) multiply_few<Reader, Rows, kPanels>(product, p);
  for (; p < panels.end; ++p) multiply_few<Reader, Rows, 1>(product, p);
}

// ---- Many rows

constexpr std::size_t kTileRows = kLanes >= 16 ? 12 : kLanes == 8 ? 6 : 2;  // what the vector registers hold
constexpr std::size_t kRowChunk = 192;                                      // rows whose sums are kept at a time
constexpr std::size_t kRangeParts = 8;                                      // parts unpacked at a time: 16 KiB

template <class Reader>
void unpack_parts(const std::byte* panel, std::size_t first, std::size_t count, float* weights) {
  for (std::size_t part = 0; part < count; ++part) {
    PLM_KEEP_LOOP
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Reader reader(PanelPlace{panel, first + part, v * kLanes});
      float* to = weights + part * kPanelPart * kPanelOutputs + v * kLanes;
      PLM_KEEP_LOOP
      for (std::size_t q = 0; q < kPanelPart / 4; ++q) {
        const auto quad = reader.quad(q);
        PLM_UNROLL
        for (std::size_t k = 0; k < 4; ++k) {
          hn::Store(reader.weight(quad, k), FloatTag(), to + (4 * q + k) * kPanelOutputs);
        }
      }
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
    for (std::size_t k = part * kPanelPart; k < (part + 1) * kPanelPart; ++k) {
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
template <class Reader>
void multiply_chunk(const Product& product, std::size_t p, std::size_t first, std::size_t rows) {
  HWY_ALIGN float weights[kRangeParts * kPanelPart * kPanelOutputs];
  HWY_ALIGN float sums[kRowChunk * kPanelOutputs];
  std::fill_n(sums, rows * kPanelOutputs, 0.0F);
  const auto tiles = static_cast<int>((rows + kTileRows - 1) / kTileRows);
  for (std::size_t part = 0; part < product.parts();) {
    const std::size_t full = product.full_parts - std::min(part, product.full_parts);
    const std::size_t count = full > 0 ? std::min(full, kRangeParts) : 1;
    unpack_parts<Reader>(product.panel(p), part, count, weights);
    for (int t = 0; t < tiles; ++t) {
      const Share tile = share_of(rows, t, tiles);
      const auto multiply = tile_of(tile.end - tile.begin, std::make_index_sequence<kTileRows>());
      multiply(weights, count, product.inputs(first + tile.begin, part), sums + tile.begin * kPanelOutputs);
    }
    part += count;
  }
  for (std::size_t r = 0; r < rows; ++r) product.finish(p, first + r, sums + r * kPanelOutputs);
}

template <class Reader>
void multiply_panels(const Product& product, Share panels) {
  const std::size_t rows = product.in->rows;
  if (rows == 1) return multiply_few_rows<Reader, 1>(product, panels);
  if (rows == 2) return multiply_few_rows<Reader, 2>(product, panels);
  if (rows == 3) return multiply_few_rows<Reader, 3>(product, panels);
  if (rows == 4) return multiply_few_rows<Reader, 4>(product, panels);
  for (std::size_t first = 0; first < rows; first += kRowChunk) {
    const std::size_t count = std::min(kRowChunk, rows - first);
    for (std::size_t p = panels.begin; p < panels.end; ++p) multiply_chunk<Reader>(product, p, first, count);
  }
}

}  // namespace

void linear(const LinearWork& work, Share outputs) {
  const PanelLayout* layout = work.weight->layout;
  if (layout == nullptr) return reference::linear(work, outputs);
  const Product product = make_product(work);
  const Share panels{outputs.begin / kPanelOutputs, panel_count(outputs.end)};
  switch (layout->kind) {
    case PanelKind::f32: return multiply_panels<F32Reader>(product, panels);
    case PanelKind::f16: return multiply_panels<F16Reader>(product, panels);
    case PanelKind::bf16: return multiply_panels<Bf16Reader>(product, panels);
    case PanelKind::q4_0: return multiply_panels<Q4_0Reader>(product, panels);
    case PanelKind::q4_1: return multiply_panels<Q4_1Reader>(product, panels);
    case PanelKind::q8_0: return multiply_panels<Q8_0Reader>(product, panels);
    case PanelKind::q4_k: return multiply_panels<Q4KReader>(product, panels);
    case PanelKind::q6_k: return multiply_panels<Q6KReader>(product, panels);
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
