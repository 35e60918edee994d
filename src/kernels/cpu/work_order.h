// Which work may run beside which: a barrier is needed only before work that touches bytes which work since the last
// barrier writes, or that writes bytes which it reads. So the three projections of attention, or gate and up, run
// without waiting for one another. Tested by tests/kernels/cpu/test_work_order.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "kernels/cpu/work.h"

namespace plm {

/// Bytes that a piece of work reads or writes; gaps between rows count as touched.
struct Touch {
  const std::byte* begin;
  const std::byte* end;
  bool is_write;

  [[nodiscard]] bool meets(const Touch& other) const { return std::max(begin, other.begin) < std::min(end, other.end); }
};

[[nodiscard]] inline Touch reads(std::span<const std::byte> bytes) {
  return {bytes.data(), bytes.data() + bytes.size(), false};
}
[[nodiscard]] inline Touch reads(const Floats& floats) {
  if (floats.rows == 0) return {nullptr, nullptr, false};
  const float* end = floats.row(floats.rows - 1) + floats.columns;
  return {reinterpret_cast<const std::byte*>(floats.data), reinterpret_cast<const std::byte*>(end), false};
}
template <typename Any>
[[nodiscard]] Touch writes(const Any& any) {
  Touch touch = reads(any);
  touch.is_write = true;
  return touch;
}

class WorkOrder {
 public:
  /// Whether the next piece of work must wait for all before it.
  bool must_wait(std::initializer_list<Touch> touches) {
    const bool meets_open = std::ranges::any_of(touches, [this](const Touch& touch) {
      return std::ranges::any_of(
          open_, [&](const Touch& earlier) { return (touch.is_write || earlier.is_write) && touch.meets(earlier); });
    });
    if (meets_open) open_.clear();
    open_.insert(open_.end(), touches.begin(), touches.end());
    return meets_open;
  }
  void clear() { open_.clear(); }

 private:
  std::vector<Touch> open_;  // of the work since the last barrier
};

}  // namespace plm
