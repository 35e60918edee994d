// The rows of a pass sorted by the experts that they go to, and how the products of all experts are dealt out to
// threads. Nothing here changes a bit of a result: an expert's product of a row does not depend on the rows beside it.
// Tested by tests/kernels/cpu/test_expert_lists.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/work.h"

namespace plm {

class ExpertLists {
 public:
  /// Makes room, so that `fill` allocates nothing. Work that is enqueued may refer to the lists meanwhile.
  void reserve(std::size_t rows, std::size_t used, std::size_t experts);

  /// Sorts: places 0 ... rows * used - 1 are given out expert by expert, for each in the order of its rows.
  /// routing: [rows, 2 * used], whose first half are numbers below `experts`.
  void fill(const Floats& routing, std::size_t experts);

  /// The row at a place.
  [[nodiscard]] std::size_t row_at(std::size_t place) const { return rows_[place]; }
  /// The place of row `row` at its choice number `choice`.
  [[nodiscard]] std::size_t place_of(std::size_t row, std::size_t choice) const {
    return places_[row * used_ + choice];
  }
  [[nodiscard]] Share places_of_expert(std::size_t expert) const { return {begins_[expert], begins_[expert + 1]}; }

  /// Calls visit(expert, places, panels) for what falls to `member` of `members` when every expert has `panels` panels:
  /// runs of about equal work, each panel in exactly one of them.
  template <typename Visit>
  void for_each_share(std::size_t panels, int member, int members, Visit visit) const {
    std::size_t total = 0;
    for (std::size_t e = 0; e < experts_; ++e) total += panels * panel_cost(e);
    const auto m = static_cast<std::size_t>(member), n = static_cast<std::size_t>(members);
    const std::size_t from = total * m / n, to = total * (m + 1) / n;
    std::size_t first = 0;  // cost of all panels before this expert's
    for (std::size_t e = 0; e < experts_ && first < to; ++e) {
      const std::size_t cost = panel_cost(e);
      if (cost == 0) continue;
      // A panel falls to the member in whose range it begins.
      const auto panels_before = [&](std::size_t end) {
        return end <= first ? std::size_t{0} : std::min(panels, (end - first + cost - 1) / cost);
      };
      const Share share{panels_before(from), panels_before(to)};
      if (share.begin < share.end) visit(e, places_of_expert(e), share);
      first += panels * cost;
    }
  }

 private:
  // Of one panel of an expert, in rows: reading and unpacking it costs about as much as a few rows.
  [[nodiscard]] std::size_t panel_cost(std::size_t expert) const {
    constexpr std::size_t kReading = 4;
    const std::size_t rows = begins_[expert + 1] - begins_[expert];
    return rows == 0 ? 0 : rows + kReading;
  }

  std::size_t used_ = 1;
  std::size_t experts_ = 0;
  std::vector<std::uint32_t> rows_;    // [rows * used] by place
  std::vector<std::uint32_t> places_;  // [rows, used]
  std::vector<std::uint32_t> begins_;  // [experts + 1] first place of each expert, and the end
};

}  // namespace plm
