// Memory for packed weights: pieces of large blocks, so that small weights lie in huge pages as well. (In pages of 4
// KiB a core of the machine at hand reads 10 GB/s in place of 12, and most matrices of a small model have less than 2
// MiB.) Tested by tests/kernels/cpu/test_weight_memory.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "base/aligned_buffer.h"

namespace plm {

class WeightMemory {
 public:
  /// Zeroed memory that lives as long as any piece of its block.
  struct Piece {
    std::span<std::byte> bytes;
    std::shared_ptr<const AlignedBuffer> block;
  };

  /// Error no_room when the system refuses. What is never written of a block stays virtual.
  Result<Piece> take(std::size_t bytes) {
    if (block_ == nullptr || bytes > block_->size() - used_) {
      PLM_TRY_ASSIGN(AlignedBuffer block, AlignedBuffer::allocate(std::max(bytes, kBlockBytes)));
      block_ = std::make_shared<const AlignedBuffer>(std::move(block));
      used_ = 0;
    }
    const Piece piece{{block_->data() + used_, bytes}, block_};
    constexpr std::size_t kUnit = AlignedBuffer::kAlignment;
    used_ = std::min((used_ + bytes + kUnit - 1) / kUnit * kUnit, block_->size());
    return piece;
  }

 private:
  static constexpr std::size_t kBlockBytes = 64U << 20;

  std::shared_ptr<const AlignedBuffer> block_;  // the last one
  std::size_t used_ = 0;                        // bytes of it
};

}  // namespace plm
