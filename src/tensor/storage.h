// Memory that belongs to a device, and views of it.
//
// A Storage is opaque: what it holds can be reached only through the operations of the device that made it, so a model
// written against views runs unchanged on a device whose memory the host cannot see (tests/kernels/fake_device.h).
// Tested by tests/tensor/test_storage.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "tensor/storage_type.h"

namespace plm {

/// A piece of device memory. Freed with the last reference.
class Storage {
 public:
  virtual ~Storage() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;  ///< bytes
};

/// Who can make storage: the memory half of a device.
class Memory {
 public:
  virtual ~Memory() = default;
  /// Zeroed bytes. Error no_room.
  virtual Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) = 0;
};

/// A matrix [rows, columns] inside a storage; rows are `row_stride` bytes apart. Copying a view copies no numbers.
/// The storage must outlive every operation that was enqueued with the view.
struct View {
  Storage* storage = nullptr;
  std::size_t offset = 0;  ///< bytes from the start of the storage
  const StorageType* type = &quant_f32;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t row_stride = 0;  ///< bytes

  /// Rows [begin, begin + count).
  [[nodiscard]] View row_range(std::size_t begin, std::size_t count) const {
    PLM_CHECK(begin + count <= rows);
    View part = *this;
    part.offset += begin * row_stride;
    part.rows = count;
    return part;
  }
  /// Columns [begin, begin + count) of every row; both multiples of the type's block size.
  [[nodiscard]] View column_range(std::size_t begin, std::size_t count) const {
    PLM_CHECK(begin + count <= columns);
    PLM_CHECK(begin % type->block_size == 0 && count % type->block_size == 0);
    View part = *this;
    part.offset += type->row_bytes(begin);
    part.columns = count;
    return part;
  }
};

/// A dense view at the start of (or `offset` bytes into) a storage.
[[nodiscard]] inline View dense_view(Storage& storage, std::size_t rows, std::size_t columns,
                                     const StorageType& type = quant_f32, std::size_t offset = 0) {
  const std::size_t stride = type.row_bytes(columns);
  PLM_CHECK(offset + rows * stride <= storage.size());
  return View{&storage, offset, &type, rows, columns, stride};
}

}  // namespace plm
