// Finds the number of a thing that was numbered before: a hash table of numbers, whose things the caller keeps.
// Tested by tests/constraint/test_regular.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace plm {

/// Spreads `value` over `hash`; the order of calls matters.
[[nodiscard]] constexpr std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29U);
}

class IdTable {
 public:
  /// The number that was inserted with `hash` and for which `is_same(number)` holds.
  template <typename IsSame>
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t hash, IsSame is_same) const {
    if (slots_.empty()) return std::nullopt;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.id == kFree) return std::nullopt;
      if (slot.tag == tag(hash) && is_same(slot.id)) return slot.id;
    }
  }
  /// Not found before.
  void insert(std::uint64_t hash, std::uint32_t id) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    place(hash, id);
    hashes_.push_back(hash);
    ids_.push_back(id);
    ++count_;
  }
  [[nodiscard]] std::size_t bytes() const {
    return slots_.capacity() * sizeof(Slot) + hashes_.capacity() * sizeof(std::uint64_t) + ids_.capacity() * 4;
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFFU;
  struct Slot {
    std::uint32_t id = kFree;
    std::uint32_t tag = 0;
  };
  static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }
  void place(std::uint64_t hash, std::uint32_t id) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].id != kFree) at = (at + 1) & mask;
    slots_[at] = {id, tag(hash)};
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), Slot{});
    for (std::size_t i = 0; i < count_; ++i) place(hashes_[i], ids_[i]);
  }

  std::vector<Slot> slots_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> ids_;
  std::size_t count_ = 0;
};

}  // namespace plm
