#include "text/merge_table.h"

#include <algorithm>
#include <array>
#include <bit>

#include "text/seeded_hash.h"

namespace plm {

MergeTable::MergeTable(std::span<const MergeEntry> entries)
    : slots_(std::bit_ceil(entries.size() + entries.size() / 2 + 1)), seed_(hash_seed(slots_.data())) {
  // In blocks that fetch their slots ahead: most of the time is waiting for memory.
  std::array<std::size_t, 32> homes;
  while (!entries.empty()) {
    const auto block = entries.first(std::min(entries.size(), homes.size()));
    for (std::size_t i = 0; i < block.size(); ++i) {
      homes[i] = home_of(block[i].left, block[i].right);
      __builtin_prefetch(&slots_[homes[i]], 1);
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      MergeEntry& slot = slots_[slot_of(block[i].left, block[i].right, homes[i])];
      if (slot.left == kNoToken) slot = block[i];
    }
    entries = entries.subspan(block.size());
  }
}

// Where the search for a pair begins.
std::size_t MergeTable::home_of(TokenId left, TokenId right) const {
  const std::uint64_t pair = std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  return hash_mix(pair ^ seed_, 0xA0761D6478BD642FU) & (slots_.size() - 1);
}

// The slot that holds the pair, or the free one where it would go.
std::size_t MergeTable::slot_of(TokenId left, TokenId right, std::size_t home) const {
  std::size_t at = home;
  while (slots_[at].left != kNoToken && (slots_[at].left != left || slots_[at].right != right)) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

Merge MergeTable::find(TokenId left, TokenId right) const {
  if (slots_.empty() || left == kNoToken || right == kNoToken) return {};
  return slots_[slot_of(left, right, home_of(left, right))].merge;
}

}  // namespace plm
