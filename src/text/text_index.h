// Finds the number of a text among many: an open-addressing table over views whose bytes live elsewhere (the mapped
// model file).
//
// Most of the time of a look-up is waiting for memory, so a slot holds the first eight bytes of its text, which settles
// nearly every comparison, and many texts at once are looked up in blocks that fetch their slots ahead.
// Of equal texts the one with the lowest number is found. Tested by tests/text/test_text_index.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace plm {

class TextIndex {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  TextIndex() = default;
  /// Numbers `texts` from 0 (fewer than 2^32 of them); the array and the bytes must stay where they are.
  explicit TextIndex(std::span<const std::string_view> texts);

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const;

  /// The numbers of all `texts`, kNone for a text that is not there. Several times faster than one by one.
  [[nodiscard]] std::vector<std::uint32_t> find_all(std::span<const std::string_view> texts) const;

  /// Numbers of the texts that equal one with a lower number, ascending.
  [[nodiscard]] std::span<const std::uint32_t> duplicates() const { return duplicates_; }

 private:
  struct Slot {
    std::uint64_t head = 0;        // the first eight bytes, zeros after a shorter text
    std::uint32_t number = kNone;  // kNone: free
    std::uint16_t size = 0;        // at most 0xFFFF
    std::uint16_t tag = 0;         // the upper bits of the hash
    [[nodiscard]] bool agrees_with(const Slot& other) const {
      return head == other.head && size == other.size && tag == other.tag;
    }
  };
  struct Probe {
    Slot slot;       // what the text's slot looks like, but for the number
    std::size_t at;  // where the search for it begins
  };
  [[nodiscard]] Probe probe(std::string_view text) const;
  [[nodiscard]] std::size_t slot_of(std::string_view text, const Probe& probe) const;
  template <typename Use>
  void for_each_probe(std::span<const std::string_view> texts, Use use) const;

  std::span<const std::string_view> texts_;
  std::vector<Slot> slots_;  // a power of two, at most two thirds full
  std::uint64_t seed_ = 0;
  std::vector<std::uint32_t> duplicates_;
};

}  // namespace plm
