// How one layer's keys and values lie in a page of the CPU device: keys as [kv_head][dim][cell], so that a SIMD lane is
// a cell and a score needs no sum across lanes, then values as [kv_head][cell][dim]. A plain type holds its numbers so.
// q8_0 holds its levels so, one byte each, and behind those of the keys, and again of the values, the float16 scales of
// 32 dimensions each as [kv_head][dim / 32][cell]; a number is level * scale. Where values are part of their keys, the
// keys are all there is. Either way the layer takes KvPlace::bytes. Tested by tests/kernels/cpu/test_attention.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_storage.h"
#include "kernels/device.h"

namespace plm {

inline constexpr std::size_t kScaledDims = 32;                     ///< dimensions that share a scale
inline constexpr std::size_t kScaleBytes = sizeof(std::uint16_t);  ///< a float16

struct KvPage {
  std::byte* layer;  ///< where the layer's part of the page begins
  const KvPlace* place;

  [[nodiscard]] bool has_scales() const { return place->type->block_size > 1; }
  /// Of a number, without its scale.
  [[nodiscard]] std::size_t number_bytes() const { return has_scales() ? 1 : place->type->block_bytes; }

  /// kPageCells numbers: dimension `dim` of the keys of all cells.
  [[nodiscard]] std::byte* keys(std::size_t kv_head, std::size_t dim) const {
    return layer + (kv_head * place->head_dim + dim) * kPageCells * number_bytes();
  }
  /// head_dim numbers: the value of one cell.
  [[nodiscard]] std::byte* values(std::size_t kv_head, std::size_t cell) const {
    return layer + place->key_bytes() + (kv_head * kPageCells + cell) * place->head_dim * number_bytes();
  }
  /// kPageCells float16: the scale of `dim` and its neighbours in the keys of all cells.
  [[nodiscard]] std::byte* key_scales(std::size_t kv_head, std::size_t dim) const {
    return layer + scales(kv_head, dim);
  }
  /// kPageCells float16: the same for the values.
  [[nodiscard]] std::byte* value_scales(std::size_t kv_head, std::size_t dim) const {
    return layer + place->key_bytes() + scales(kv_head, dim);
  }

 private:
  [[nodiscard]] std::size_t scales(std::size_t kv_head, std::size_t dim) const {
    const std::size_t levels = place->kv_heads * place->head_dim * kPageCells;
    const std::size_t row = (kv_head * place->head_dim + dim) / kScaledDims;
    return levels + row * kPageCells * kScaleBytes;
  }
};

/// One layer in page number `page` of a sequence.
[[nodiscard]] inline KvPage kv_page(const RowTable& table, std::uint32_t sequence, std::size_t page,
                                    const KvPlace& place) {
  const auto* storage = static_cast<const CpuStorage*>(table.pages[sequence][page]);
  return {storage->data() + place.offset, &place};
}

}  // namespace plm
