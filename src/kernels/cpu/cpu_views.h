// Views and weights as the operations of the CPU device take them: checked, and turned into plain pointers.
// Tested by tests/kernels/cpu/test_cpu_device.cpp.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "kernels/cpu/cpu_storage.h"
#include "kernels/cpu/work.h"

namespace plm {

[[nodiscard]] inline std::byte* bytes_of(const Storage& storage) {
  return static_cast<const CpuStorage&>(storage).data();
}

/// Where a view begins, after making sure that it lies inside its storage.
[[nodiscard]] inline std::byte* bytes_of(const View& view) {
  if (view.rows == 0) return nullptr;
  const std::size_t row_bytes = view.type->row_bytes(view.columns);
  PLM_CHECK(view.row_stride >= row_bytes || view.rows == 1);
  PLM_CHECK(view.offset + (view.rows - 1) * view.row_stride + row_bytes <= view.storage->size());
  return bytes_of(*view.storage) + view.offset;
}

[[nodiscard]] inline std::span<const std::byte> touched_by(const View& view) {
  if (view.rows == 0) return {};
  return {bytes_of(view), (view.rows - 1) * view.row_stride + view.type->row_bytes(view.columns)};
}

[[nodiscard]] inline Floats floats_of(const View& view) {
  PLM_CHECK(view.type == &quant_f32 && view.offset % sizeof(float) == 0 && view.row_stride % sizeof(float) == 0);
  return {reinterpret_cast<float*>(bytes_of(view)), view.rows, view.columns, view.row_stride / sizeof(float)};
}

[[nodiscard]] inline bool same_shape(const View& a, const View& b) {
  return a.rows == b.rows && a.columns == b.columns;
}

[[nodiscard]] inline const CpuWeight& weight_of(const Weight& weight) { return static_cast<const CpuWeight&>(weight); }

[[nodiscard]] inline bool is_vector(WeightRole role) { return role == WeightRole::norm || role == WeightRole::bias; }

[[nodiscard]] inline const float* vector_of(const Weight& weight, std::size_t columns) {
  PLM_CHECK(is_vector(weight.role) && weight.inputs == columns);
  return weight_of(weight).numbers.data();
}

}  // namespace plm
