// Merges by the token that they make and the size of their left part, for those that MergeList cannot keep in order.
//
// An open-addressing table. Of equal merges the first one in the list, which has the better rank, counts.
// Tested by tests/text/test_merge_table.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/token.h"

namespace plm {

struct MergeEntry {
  TokenId product = kNoToken;
  std::uint32_t left_bytes = 0;  ///< of the left token's text
  std::uint32_t rank = 0;
};

class MergeTable {
 public:
  MergeTable() = default;
  explicit MergeTable(std::span<const MergeEntry> entries);

  /// The entry's rank; `otherwise` when there is none.
  [[nodiscard]] std::uint32_t rank(TokenId product, std::uint32_t left_bytes, std::uint32_t otherwise) const;

 private:
  [[nodiscard]] std::size_t slot_of(TokenId product, std::uint32_t left_bytes) const;

  std::vector<MergeEntry> slots_;  // a power of two, at most two thirds full; product == kNoToken: free
  std::uint64_t seed_ = 0;
};

}  // namespace plm
