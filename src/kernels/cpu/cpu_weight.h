// A weight as the CPU device holds it: where the file keeps its rows, and the shapes that kernels read faster.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/cpu/panel.h"
#include "kernels/device.h"

namespace plm {

class CpuWeight : public Weight {
 public:
  std::span<const std::byte> bytes;   ///< rows as in the file; empty once they are unpacked or packed anew
  std::vector<float> numbers;         ///< norm and bias: the vectors, unpacked
  const PanelType* panel = nullptr;   ///< how `panels` are packed; null if there are none
  AlignedBuffer panels;               ///< matrices of the fast kernels
  std::shared_ptr<const void> owner;  ///< of `bytes`, where it is not the file

  [[nodiscard]] const std::byte* row(std::size_t output, std::size_t matrix = 0) const {
    return bytes.data() + (matrix * outputs + output) * type->row_bytes(inputs);
  }
};

}  // namespace plm
