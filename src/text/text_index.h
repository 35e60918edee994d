// Finds the number of a text among many: an open-addressing table over views whose bytes live elsewhere (the mapped
// model file).
//
// Most of the time of a look-up is waiting for memory. So a slot has four bytes: the text's number and, in the bits
// that are left, some of its hash, which settle nearly every comparison (13 bits for 262144 texts). The table lies in
// huge pages, and it is filled in blocks of texts that fetch their slots ahead. Of equal texts the one with the lowest
// number is found. Tested by tests/text/test_text_index.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"

namespace plm {

class TextIndex {
 public:
  TextIndex() = default;
  /// Numbers `texts` from 0 (fewer than 2^32 - 1 of them); the array and the bytes must stay where they are.
  /// Error no_room.
  static Result<TextIndex> build(std::span<const std::string_view> texts);

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const;

  /// Numbers of the texts that equal one with a lower number, ascending.
  [[nodiscard]] std::span<const std::uint32_t> duplicates() const { return duplicates_; }

 private:
  using Slot = std::uint32_t;  // the number and one, below the uppermost bits of the hash; 0: free
  [[nodiscard]] Slot& slot_of(std::string_view text, std::uint64_t hash) const;
  void insert(std::uint32_t number, std::uint64_t hash);

  std::span<const std::string_view> texts_;
  AlignedBuffer memory_;  // of the slots
  std::size_t mask_ = 0;  // their number is a power of two, at most two thirds are taken
  Slot hash_bits_ = 0;    // of a slot; the others are the number's
  std::uint64_t seed_ = 0;
  std::vector<std::uint32_t> duplicates_;
};

}  // namespace plm
