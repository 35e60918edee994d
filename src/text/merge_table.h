// The merges of a BPE vocabulary as numbers: (left id, right id) -> (rank, id of the product).
//
// An open-addressing table of 16-byte slots: the inner loop of BPE is one look-up here for each pair of neighbours.
// Of equal pairs the first one in the list, which has the better rank, counts.
// Tested by tests/text/test_merge_table.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/token.h"

namespace plm {

/// What two neighbours become.
struct Merge {
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFFU;

  std::uint32_t rank = kNoRank;  ///< place in the list of merges, the lowest merges first; kNoRank: they do not merge
  TokenId product = kNoToken;
};

/// One line of the list of merges.
struct MergeEntry {
  TokenId left = kNoToken, right = kNoToken;
  Merge merge;
};

class MergeTable {
 public:
  MergeTable() = default;
  explicit MergeTable(std::span<const MergeEntry> entries);

  /// The merge of two neighbours; kNoToken merges with nothing.
  [[nodiscard]] Merge find(TokenId left, TokenId right) const;

 private:
  [[nodiscard]] std::size_t home_of(TokenId left, TokenId right) const;
  [[nodiscard]] std::size_t slot_of(TokenId left, TokenId right, std::size_t home) const;

  std::vector<MergeEntry> slots_;  // a power of two, at most two thirds full; left == kNoToken: free
  std::uint64_t seed_ = 0;
};

}  // namespace plm
