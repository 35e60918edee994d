#include "text/text_index.h"

#include <algorithm>
#include <array>
#include <bit>

#include "text/seeded_hash.h"

namespace plm {

Result<TextIndex> TextIndex::build(std::span<const std::string_view> texts) {
  TextIndex index;
  const std::size_t slots = std::bit_ceil(texts.size() + texts.size() / 2 + 1);
  PLM_TRY_ASSIGN(index.memory_, AlignedBuffer::allocate(slots * sizeof(Slot)));
  index.texts_ = texts;
  index.mask_ = slots - 1;
  index.hash_bits_ = ~static_cast<Slot>(std::bit_ceil(texts.size() + 1) - 1);
  index.seed_ = hash_seed(index.memory_.data());
  std::array<std::uint64_t, 32> hashes;
  for (std::size_t begin = 0; begin < texts.size(); begin += hashes.size()) {
    const std::size_t count = std::min(hashes.size(), texts.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_text(texts[begin + i], index.seed_);
      __builtin_prefetch(index.memory_.data() + (hashes[i] & index.mask_) * sizeof(Slot), 1);
    }
    for (std::size_t i = 0; i < count; ++i) index.insert(static_cast<std::uint32_t>(begin + i), hashes[i]);
  }
  return index;
}

void TextIndex::insert(std::uint32_t number, std::uint64_t hash) {
  Slot& slot = slot_of(texts_[number], hash);
  if (slot == 0) {
    slot = (static_cast<Slot>(hash >> 32) & hash_bits_) | (number + 1);
  } else {
    duplicates_.push_back(number);
  }
}

// The slot that holds `text`, or the free one where it would go.
TextIndex::Slot& TextIndex::slot_of(std::string_view text, std::uint64_t hash) const {
  auto* slots = reinterpret_cast<Slot*>(memory_.data());
  const Slot upper = static_cast<Slot>(hash >> 32) & hash_bits_;
  for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
    Slot& slot = slots[at];
    if (slot == 0) return slot;
    if ((slot & hash_bits_) == upper && same_texts(texts_[(slot & ~hash_bits_) - 1], text)) return slot;
  }
}

std::optional<std::uint32_t> TextIndex::find(std::string_view text) const {
  if (mask_ == 0) return std::nullopt;
  const Slot ordinal = slot_of(text, hash_text(text, seed_)) & ~hash_bits_;
  return ordinal == 0 ? std::nullopt : std::optional(ordinal - 1);
}

}  // namespace plm
