// Finds the texts of special tokens in a text: leftmost first and, of several that begin at one place, the longest.
//
// This is the rule of Hugging Face tokenizers for added tokens (and of Aho-Corasick searches in "leftmost-longest"
// mode). The texts are kept sorted; at each byte where one may begin, the range of those that still agree is narrowed
// byte by byte. Cost: the text's length times the longest agreement. Tested by tests/text/test_special_matcher.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "text/token.h"

namespace plm {

class SpecialMatcher {
 public:
  using Entry = std::pair<std::string_view, TokenId>;
  struct Match {
    std::size_t begin = 0, end = 0;  ///< half-open range of bytes
    TokenId id = kNoToken;
  };

  SpecialMatcher() = default;
  /// Empty texts are left out; of equal texts the one with the lowest id is found. The bytes must outlive the matcher.
  explicit SpecialMatcher(std::vector<Entry> entries);

  /// The first match that begins at byte `from` of `text` or later.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  [[nodiscard]] const Entry* longest_prefix(std::string_view text) const;

  std::vector<Entry> entries_;                      // sorted by text
  std::array<std::uint32_t, 257> begin_of_byte_{};  // entries that begin with byte b: [b] up to [b + 1]
};

}  // namespace plm
