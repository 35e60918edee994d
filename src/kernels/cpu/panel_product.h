// What the kernels over panels share: a packed weight, where its panels lie and where their sums go.
// Tested by tests/kernels/cpu/test_linear.cpp.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/cpu_weight.h"
#include "kernels/cpu/work.h"

namespace plm {

/// One panel of a weight: where its units and its parts begin.
struct PanelPlace {
  const std::byte* units;
  const std::byte* parts;
};

class PanelProduct {
 public:
  /// `Work`: LinearWork or IntegerLinearWork.
  template <typename Work>
  explicit PanelProduct(const Work& work)
      : parts_(part_count(work.weight->inputs)),
        unit_bytes_(panel_unit_bytes(work.weight->panel->form, parts_)),
        bytes_(panel_bytes(work.weight->panel->form, parts_)),
        first_(work.weight->panels.bytes.data() + work.matrix * panel_count(work.weight->outputs) * bytes_),
        out_(work.out),
        bias_(work.bias) {}

  [[nodiscard]] std::size_t parts() const { return parts_; }
  [[nodiscard]] PanelPlace place(std::size_t panel) const {
    const std::byte* units = first_ + panel * bytes_;
    return {units, units + unit_bytes_};
  }

  /// Bytes of a panel.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Writes the sums of one panel and row, without the outputs that only pad the panel.
  void finish(std::size_t panel, std::size_t row, const float* sums) const {
    const std::size_t first = panel * kPanelOutputs;
    const std::size_t count = std::min(kPanelOutputs, out_.columns - first);
    float* to = out_.row(row) + first;
    for (std::size_t o = 0; o < count; ++o) to[o] = bias_ != nullptr ? sums[o] + bias_[first + o] : sums[o];
  }

 private:
  std::size_t parts_;
  std::size_t unit_bytes_;
  std::size_t bytes_;
  const std::byte* first_;
  Floats out_;
  const float* bias_;
};

/// Asks memory for what comes after `together` panels while those are read, part by part: the panels behind them, or,
/// where panels are long, what follows in each. (Never what one of them is about to read anyway: two short panels read
/// side by side, each asked for 4 KiB ahead, came at 7.3 GB/s in place of 12 on one core with AVX2.)
template <const PanelForm& Form>
class PanelsAhead {
 public:
  PanelsAhead(const PanelProduct& product, std::size_t first, std::size_t together)
      : next_(product.place(first).units + (product.bytes() < kLongPanel ? together * product.bytes() : kAhead)),
        panel_bytes_(product.bytes()),
        stride_(product.bytes() / product.parts()) {}

  /// While these parts of panel `panel` of those read together are. (Always inlined: GCC 12 drops calls of a function
  /// that does nothing but prefetch, as having no effect.)
  __attribute__((always_inline)) void ask(std::size_t panel, Share parts) const {
    for (std::size_t part = parts.begin; part < parts.end; ++part) {
      const std::byte* from = next_ + panel * panel_bytes_ + part * stride_;
      for (std::size_t byte = 0; byte < kPartBytes; byte += kCacheLine) __builtin_prefetch(from + byte);
    }
  }

 private:
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::size_t kLongPanel = 64U << 10;
  static constexpr std::size_t kAhead = 8U << 10;
  // A part with its share of the units.
  static constexpr std::size_t kPartBytes =
      Form.part_bytes() + Form.unit_bytes() / static_cast<std::size_t>(Form.unit_parts);

  const std::byte* next_;
  std::size_t panel_bytes_;
  std::size_t stride_;
};

}  // namespace plm
