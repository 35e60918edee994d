// Comparing short texts in place, without a call: what most of the time of a look-up would go into otherwise.
// Tested by tests/text/test_short_text.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace plm {

template <typename Word>
[[nodiscard]] inline Word word_at(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Up to eight bytes as a number that tells all texts of one size apart; reads nothing beyond them.
[[nodiscard]] inline std::uint64_t short_word(const char* bytes, std::size_t size) {
  if (size >= 8) return word_at<std::uint64_t>(bytes);
  if (size >= 4) {  // the two halves overlap
    return std::uint64_t{word_at<std::uint32_t>(bytes)} << 32 | word_at<std::uint32_t>(bytes + size - 4);
  }
  if (size == 0) return 0;
  const auto byte = [bytes](std::size_t at) { return std::uint64_t{static_cast<unsigned char>(bytes[at])}; };
  return byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
}

/// Whether the `size` bytes are the same.
[[nodiscard]] inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  if (size <= 8) return short_word(a, size) == short_word(b, size);
  if (size > 16) return std::memcmp(a, b, size) == 0;
  return word_at<std::uint64_t>(a) == word_at<std::uint64_t>(b) &&
         word_at<std::uint64_t>(a + size - 8) == word_at<std::uint64_t>(b + size - 8);
}

[[nodiscard]] inline bool same_texts(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_bytes(a.data(), b.data(), a.size());
}

}  // namespace plm
