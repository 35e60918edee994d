// How one layer's keys and values lie in a page of the CPU device: keys as [kv_head][dim][cell], so that a SIMD lane is
// a cell and a score needs no sum across lanes, then values as [kv_head][cell][dim]. A plain type holds its numbers so.
// q8_0 holds its levels so, one byte each, and q4_0 as in its blocks: of 32 dimensions, i and i + 16 share a byte, i in
// the low half. Behind the levels of the keys, and again of the values, lie the float16 scales of 32 dimensions each as
// [kv_head][dim / 32][cell]; a number is level * scale. A cell shares no byte with another, so that threads may store
// neighbouring ones. Where values are part of their keys, the keys are all there is. In any case the layer takes
// KvPlace::bytes. Tested by tests/kernels/cpu/test_attention.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_storage.h"
#include "kernels/device.h"

namespace plm {

inline constexpr std::size_t kScaledDims = 32;                     ///< dimensions that share a scale
inline constexpr std::size_t kScaleBytes = sizeof(std::uint16_t);  ///< a float16

[[nodiscard]] inline bool has_scales(const StorageType& type) { return type.block_size > 1; }

/// Bytes of a number of a plain type; of what is stored at a time of one with scales.
[[nodiscard]] inline std::size_t unit_bytes(const StorageType& type) { return has_scales(type) ? 1 : type.block_bytes; }

/// Bytes before the one that holds dimension `dim`, of dimensions that lie side by side without their scales.
[[nodiscard]] inline std::size_t bytes_before(const StorageType& type, std::size_t dim) {
  if (!has_scales(type)) return dim * type.block_bytes;
  const std::size_t bytes = type.block_bytes - kScaleBytes;  // of kScaledDims levels
  return dim / kScaledDims * bytes + dim % kScaledDims % bytes;
}

struct KvPage {
  std::byte* layer;  ///< where the layer's part of the page begins
  const KvPlace* place;

  [[nodiscard]] const StorageType& key_type() const { return *place->types.keys; }
  [[nodiscard]] const StorageType& value_type() const { return *place->types.values; }

  /// kPageCells numbers: dimension `dim` of the keys of all cells.
  [[nodiscard]] std::byte* keys(std::size_t kv_head, std::size_t dim) const {
    return layer + bytes_before(key_type(), kv_head * place->head_dim + dim) * kPageCells;
  }
  /// head_dim numbers: the value of one cell.
  [[nodiscard]] std::byte* values(std::size_t kv_head, std::size_t cell) const {
    const std::size_t before = (kv_head * kPageCells + cell) * place->head_dim;
    return layer + place->key_bytes() + bytes_before(value_type(), before);
  }
  /// kPageCells float16: the scale of `dim` and its neighbours in the keys of all cells.
  [[nodiscard]] std::byte* key_scales(std::size_t kv_head, std::size_t dim) const {
    return layer + scales(key_type(), kv_head, dim);
  }
  /// kPageCells float16: the same for the values.
  [[nodiscard]] std::byte* value_scales(std::size_t kv_head, std::size_t dim) const {
    return layer + place->key_bytes() + scales(value_type(), kv_head, dim);
  }

 private:
  [[nodiscard]] std::size_t scales(const StorageType& type, std::size_t kv_head, std::size_t dim) const {
    const std::size_t levels = bytes_before(type, place->kv_heads * place->head_dim) * kPageCells;
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
