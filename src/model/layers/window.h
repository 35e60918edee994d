// Sliding windows (Child et al., arXiv 1904.10509; Mistral, arXiv 2310.06825): a row sees the `window` latest positions
// up to its own, whatever else its pass shows it; that of an encoder reaches as far ahead. A window only takes sight
// away, so it is cut into the row table and the kernels know nothing of it. Tested by tests/model/test_window.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "model/pass.h"

namespace plm {

class WindowedTable {
 public:
  static constexpr std::uint32_t kAllAhead = ~std::uint32_t{0};

  explicit WindowedTable(std::uint32_t window, std::uint32_t ahead = kAllAhead) : window_(window), ahead_(ahead) {}
  /// A row sees `reach` positions on either side of its own.
  static WindowedTable symmetric(std::uint32_t reach) { return WindowedTable(reach + 1, reach); }
  [[nodiscard]] std::uint32_t window() const { return window_; }

  /// Takes the rows of a pass in. Cells of a span lie at consecutive positions; a row's own bits speak about rows of
  /// this pass.
  void take(const PassRows& rows);

  /// What is left of the last pass taken in; valid until the next.
  [[nodiscard]] RowTable table() const { return {sights_, pages_, bits_}; }

 private:
  void cut_bits(const PassRows& rows, std::size_t row);

  std::uint32_t window_;  // positions, the row's own among them
  std::uint32_t ahead_;   // positions behind its own
  std::vector<RowSight> sights_;
  std::vector<std::uint64_t> bits_;
  std::span<const std::span<Storage* const>> pages_;
};

}  // namespace plm
