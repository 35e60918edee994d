// A set of bytes: what one step of a regular expression may read. Tested by tests/constraint/test_regular.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace plm {

class ByteSet {
 public:
  constexpr ByteSet() = default;
  /// The bytes from `first` to `last`, both included.
  static constexpr ByteSet range(unsigned first, unsigned last) {
    ByteSet set;
    for (unsigned byte = first; byte <= last; ++byte) set.insert(static_cast<std::uint8_t>(byte));
    return set;
  }
  static constexpr ByteSet all() { return range(0, 255); }

  constexpr void insert(std::uint8_t byte) { words_[byte >> 6U] |= std::uint64_t{1} << (byte & 63U); }
  [[nodiscard]] constexpr bool contains(std::uint8_t byte) const {
    return ((words_[byte >> 6U] >> (byte & 63U)) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  [[nodiscard]] constexpr std::size_t size() const {
    std::size_t count = 0;
    for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  [[nodiscard]] constexpr bool contains_all(const ByteSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((other.words_[i] & ~words_[i]) != 0) return false;
    }
    return true;
  }
  [[nodiscard]] constexpr const std::array<std::uint64_t, 4>& words() const { return words_; }

  friend constexpr ByteSet operator|(ByteSet a, const ByteSet& b) {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] |= b.words_[i];
    return a;
  }
  friend constexpr ByteSet operator&(ByteSet a, const ByteSet& b) {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= b.words_[i];
    return a;
  }
  friend constexpr bool operator==(const ByteSet&, const ByteSet&) = default;

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace plm
