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
        first_(work.weight->panels.data() + work.matrix * panel_count(work.weight->outputs) * bytes_),
        out_(work.out),
        bias_(work.bias) {}

  [[nodiscard]] std::size_t parts() const { return parts_; }
  [[nodiscard]] PanelPlace place(std::size_t panel) const {
    const std::byte* units = first_ + panel * bytes_;
    return {units, units + unit_bytes_};
  }

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

}  // namespace plm
