// Memory for the activations of one pass: views taken one after another, all given back at once.
//
// A pass takes its buffers once and reuses them in every layer. The memory grows to what the largest pass needed; views
// of a pass stay valid until `reset`, even when more memory had to be added. Tested by tests/model/test_workspace.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "tensor/storage.h"

namespace plm {

class Workspace {
 public:
  explicit Workspace(Memory& memory) : memory_(memory) {}

  /// A float32 matrix with undefined content. Error no_room.
  Result<View> take(std::size_t rows, std::size_t columns) {
    const std::size_t bytes = (rows * columns * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    if (blocks_.empty() || used_ + bytes > blocks_.back()->size()) {
      PLM_TRY_ASSIGN(auto block, memory_.allocate(std::max(bytes, kSmallestBlock)));
      blocks_.push_back(std::move(block));
      used_ = 0;
    }
    const View view = dense_view(*blocks_.back(), rows, columns, quant_f32, used_);
    used_ += bytes;
    taken_ += bytes;
    return view;
  }

  /// Gives everything back. Only when the device has nothing enqueued that uses the views.
  Result<void> reset() {
    if (blocks_.size() > 1) {  // next time one block holds all of it
      blocks_.clear();
      PLM_TRY_ASSIGN(auto block, memory_.allocate(taken_));
      blocks_.push_back(std::move(block));
    }
    used_ = 0;
    taken_ = 0;
    return {};
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kSmallestBlock = 1U << 16;

  Memory& memory_;
  std::vector<std::shared_ptr<Storage>> blocks_;
  std::size_t used_ = 0;   // bytes of the last block
  std::size_t taken_ = 0;  // bytes over all blocks
};

}  // namespace plm
