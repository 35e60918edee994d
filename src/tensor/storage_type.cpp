#include "tensor/storage_type.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/settings.h"

namespace plm {

const StorageType* find_storage_type(std::uint32_t ggml_id) {
  for (const StorageType* type : storage_types()) {
    if (type->ggml_id == ggml_id) return type;
  }
  return nullptr;
}

const StorageType* find_storage_type(std::string_view name) {
  for (const StorageType* type : storage_types()) {
    if (is_named(name, type->head.name, type->head.aliases)) return type;
  }
  return nullptr;
}

float reference_dot(const StorageType& type, const std::byte* row, const float* x, std::size_t columns) {
  std::array<float, kMostPerBlock> w;
  const std::size_t step = std::max<std::size_t>(type.block_size, 32);  // whole partial sums
  float sum = 0;
  for (std::size_t begin = 0; begin < columns; begin += step) {
    const std::size_t count = std::min(step, columns - begin);
    type.unpack(row + type.row_bytes(begin), w.data(), count / type.block_size);
    for (std::size_t part = 0; part < count; part += 32) {
      float partial = 0;
      for (std::size_t k = part; k < part + 32 && k < count; ++k) partial = std::fma(x[begin + k], w[k], partial);
      sum += partial;
    }
  }
  return sum;
}

}  // namespace plm
