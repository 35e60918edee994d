// The precompiled character map of SentencePiece: which strings of characters a text is rewritten to before it is cut
// (usually NFKC and some more).
//
// Format (sentencepiece, normalizer.cc): u32 size of a double-array trie in bytes, the trie (u32 units of the
// Darts-clone library), then the replacements, each ended by a zero byte; a value in the trie is an offset into them.
// A stranger wrote it: every index is checked, and a replacement that is long or not UTF-8 counts as empty. Tested by
// tests/text/test_tokenizer.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace plm {

class Charsmap {
 public:
  struct Match {
    std::size_t bytes = 0;  ///< how much of the text it replaces; 0: there is no such entry
    std::string_view replacement;
  };

  /// Errors (bad_input): sizes that do not fit, replacements that do not end.
  static Result<Charsmap> parse(std::string bytes);

  /// The longest (or the shortest) entry that `text` begins with.
  [[nodiscard]] Match longest_prefix(std::string_view text) const;
  [[nodiscard]] Match shortest_prefix(std::string_view text) const;

  /// Rewrites well-formed text from left to right, always by the longest entry, as SentencePiece does.
  [[nodiscard]] std::string rewrite(std::string_view text) const;
  /// The same as Hugging Face tokenizers do: by whole user-perceived characters of up to five bytes, else by character.
  [[nodiscard]] std::string rewrite_graphemes(std::string_view text) const;

 private:
  template <typename Found>
  void for_each_prefix(std::string_view text, Found found) const;
  [[nodiscard]] std::string_view replacement_at(std::uint32_t offset) const;
  void append_character_rewritten(std::string_view character, std::string& out) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace plm
