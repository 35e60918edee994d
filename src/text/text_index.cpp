#include "text/text_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "text/seeded_hash.h"

namespace plm {

TextIndex::TextIndex(std::span<const std::string_view> texts)
    : texts_(texts), slots_(std::bit_ceil(texts.size() + texts.size() / 2 + 1)), seed_(hash_seed(slots_.data())) {
  for_each_probe(texts, [this](std::size_t number, const Probe& probe) {
    Slot& slot = slots_[slot_of(texts_[number], probe)];
    if (slot.number == kNone) {
      slot = probe.slot;
      slot.number = static_cast<std::uint32_t>(number);
    } else {
      duplicates_.push_back(static_cast<std::uint32_t>(number));
    }
  });
}

TextIndex::Probe TextIndex::probe(std::string_view text) const {
  const std::uint64_t hash = hash_text(text, seed_);
  Probe probe{.slot = {.size = static_cast<std::uint16_t>(std::min<std::size_t>(text.size(), 0xFFFF)),
                       .tag = static_cast<std::uint16_t>(hash >> 48)},
              .at = hash & (slots_.size() - 1)};
  std::memcpy(&probe.slot.head, text.data(), std::min(text.size(), sizeof probe.slot.head));
  return probe;
}

// The slot that holds `text`, or the free one where it would go.
std::size_t TextIndex::slot_of(std::string_view text, const Probe& probe) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = probe.at;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.number == kNone) return at;
    if (!slot.agrees_with(probe.slot)) continue;
    if (text.size() <= sizeof slot.head || texts_[slot.number] == text) return at;
  }
}

// Calls `use(index, probe)` for each text in order, with the slot where its search begins on the way to the cache.
template <typename Use>
void TextIndex::for_each_probe(std::span<const std::string_view> texts, Use use) const {
  std::array<Probe, 32> block;
  for (std::size_t begin = 0; begin < texts.size(); begin += block.size()) {
    const std::size_t count = std::min(block.size(), texts.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      block[i] = probe(texts[begin + i]);
      __builtin_prefetch(&slots_[block[i].at]);
    }
    for (std::size_t i = 0; i < count; ++i) use(begin + i, block[i]);
  }
}

std::optional<std::uint32_t> TextIndex::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t number = slots_[slot_of(text, probe(text))].number;
  return number == kNone ? std::nullopt : std::optional(number);
}

std::vector<std::uint32_t> TextIndex::find_all(std::span<const std::string_view> texts) const {
  std::vector<std::uint32_t> numbers(texts.size(), kNone);
  if (slots_.empty()) return numbers;
  for_each_probe(texts,
                 [&](std::size_t i, const Probe& probe) { numbers[i] = slots_[slot_of(texts[i], probe)].number; });
  return numbers;
}

}  // namespace plm
