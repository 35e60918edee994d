// How one layer's keys and values lie in a page of the CPU device: keys as [kv_head][dim][cell], so that a SIMD lane is
// a cell and a score needs no sum across lanes, then values as [kv_head][cell][dim]. Tested by
// tests/kernels/cpu/test_attention.cpp.
#pragma once

#include <cstddef>

#include "kernels/cpu/cpu_storage.h"
#include "kernels/device.h"

namespace plm {

struct KvPage {
  std::byte* layer;  ///< where the layer's part of the page begins
  const KvPlace* place;

  /// kPageCells numbers: dimension `dim` of the keys of all cells.
  [[nodiscard]] std::byte* keys(std::size_t kv_head, std::size_t dim) const {
    return layer + (kv_head * place->head_dim + dim) * place->type->row_bytes(kPageCells);
  }
  /// head_dim numbers: the value of one cell.
  [[nodiscard]] std::byte* values(std::size_t kv_head, std::size_t cell) const {
    return layer + place->bytes() / 2 + (kv_head * kPageCells + cell) * place->type->row_bytes(place->head_dim);
  }
};

/// One layer in page number `page` of a sequence.
[[nodiscard]] inline KvPage kv_page(const RowTable& table, std::uint32_t sequence, std::size_t page,
                                    const KvPlace& place) {
  const auto* storage = static_cast<const CpuStorage*>(table.pages[sequence][page]);
  return {storage->data() + place.offset, &place};
}

}  // namespace plm
