// Device memory of the CPU device. Whoever derives from it owns the bytes; only this device looks at them.
#pragma once

#include <cstddef>

#include "tensor/storage.h"

namespace plm {

class CpuStorage : public Storage {
 public:
  CpuStorage(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

}  // namespace plm
