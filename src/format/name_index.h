// Finds entries by their name: their indices sorted by name. Half the memory of a hash table, no hash to attack, and
// two entries of one name come to lie side by side. Tested by tests/format/test_name_index.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace plm {

/// `Name` is the member of Entry that names it. The entries stay with the caller, who hands in the same ones each time.
template <typename Entry, std::string_view Entry::*Name>
class NameIndex {
 public:
  /// Error (bad_input) when a name stands twice; `what` an entry is begins the message.
  static Result<NameIndex> of(std::span<const Entry> entries, std::string_view what) {
    NameIndex index;
    index.order_.resize(entries.size());
    std::iota(index.order_.begin(), index.order_.end(), 0U);
    const auto name = [entries](std::uint32_t i) { return entries[i].*Name; };
    std::ranges::sort(index.order_, {}, name);
    const auto twin = std::ranges::adjacent_find(index.order_, {}, name);
    if (twin != index.order_.end()) {
      return fail(ErrorKind::bad_input, "{} {}: stands twice in the file, every name may be used once", what,
                  printable(name(*twin)));
    }
    return index;
  }

  /// nullptr when there is none of that name.
  [[nodiscard]] const Entry* find(std::span<const Entry> entries, std::string_view wanted) const {
    const auto name = [entries](std::uint32_t i) { return entries[i].*Name; };
    const auto at = std::ranges::lower_bound(order_, wanted, {}, name);
    return at != order_.end() && name(*at) == wanted ? &entries[*at] : nullptr;
  }

 private:
  std::vector<std::uint32_t> order_;
};

}  // namespace plm
