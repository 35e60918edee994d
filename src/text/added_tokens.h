// Tokens that are found in a text before it is cut: markers, and pieces of text that are always kept whole.
//
// The rules are those of Hugging Face tokenizers for added tokens: leftmost first, of several that begin at one place
// the longest; a token may take the white space at its side with it, or stand for whole words only. Control tokens are
// found only when asked for. Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/special_matcher.h"
#include "text/vocabulary.h"

namespace plm {

struct AddedToken {
  std::string text;
  TokenId id = kNoToken;
  bool is_control = false;     ///< found only when special tokens are parsed
  bool strips_left = false;    ///< takes the white space before it
  bool strips_right = false;   ///< takes the white space after it
  bool single_word = false;    ///< not beside a letter, digit or underscore
  bool is_normalized = false;  ///< looked for in the text as the normaliser leaves it
};

class AddedTokens {
 public:
  AddedTokens() : AddedTokens(std::vector<AddedToken>()) {}
  explicit AddedTokens(std::vector<AddedToken> tokens);
  AddedTokens(AddedTokens&&) = default;  // the matchers refer to the texts, so moving is fine and copying is not
  AddedTokens& operator=(AddedTokens&&) = default;

  [[nodiscard]] bool empty() const { return tokens_.empty(); }

  /// The first match that begins at byte `from` of `text` or later, with the white space it takes; never what lies
  /// before `from`. Bytes that are no UTF-8 are no white space and no letters.
  [[nodiscard]] std::optional<SpecialMatcher::Match> find(std::string_view text, std::size_t from,
                                                          bool parse_special) const;

 private:
  std::vector<AddedToken> tokens_;
  SpecialMatcher always_, all_;  // their numbers are indices into tokens_
};

/// The control and user-defined tokens of a vocabulary from GGUF. The format says nothing about white space at their
/// sides; it follows from the model's name where its makers' files are known to take it.
[[nodiscard]] std::vector<AddedToken> added_tokens_of(const Vocabulary& vocabulary);

}  // namespace plm
