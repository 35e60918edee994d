#include "text/merge_table.h"

#include <bit>

#include "text/seeded_hash.h"

namespace plm {

MergeTable::MergeTable(std::span<const MergeEntry> entries) {
  if (entries.empty()) return;
  slots_.resize(std::bit_ceil(entries.size() + entries.size() / 2 + 1));
  seed_ = hash_seed(slots_.data());
  for (const MergeEntry& entry : entries) {
    MergeEntry& slot = slots_[slot_of(entry.product, entry.left_bytes)];
    if (slot.product == kNoToken) slot = entry;
  }
}

// The slot that holds the merge, or the free one where it would go.
std::size_t MergeTable::slot_of(TokenId product, std::uint32_t left_bytes) const {
  const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(product)} << 32 | left_bytes;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash_mix(key ^ seed_, 0xA0761D6478BD642FU) & mask;
  while (slots_[at].product != kNoToken && (slots_[at].product != product || slots_[at].left_bytes != left_bytes)) {
    at = (at + 1) & mask;
  }
  return at;
}

std::uint32_t MergeTable::rank(TokenId product, std::uint32_t left_bytes, std::uint32_t otherwise) const {
  if (slots_.empty()) return otherwise;
  const MergeEntry& slot = slots_[slot_of(product, left_bytes)];
  return slot.product == kNoToken ? otherwise : slot.rank;
}

}  // namespace plm
