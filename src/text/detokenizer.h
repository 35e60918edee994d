// Tokens to text, one token at a time: a token may end in the middle of a character, and then its last bytes wait.
//
// What must stay true: every piece handed out is well-formed UTF-8, and the pieces joined are what all tokens at once
// give, however the ids are cut into pushes. Bytes that can become no character turn into U+FFFD (one for each maximal
// ill-formed part). Tested by tests/text/test_detokenizer.cpp.
#pragma once

#include <span>
#include <string>

#include "text/vocabulary.h"

namespace plm {

struct DetokenizeOptions {
  bool show_special = false;  ///< control and unknown tokens appear by their texts; otherwise they add nothing
  bool whole_text = false;    ///< the ids are a text from its start: drop the space that the encoder put in front
};

class Detokenizer {
 public:
  /// The vocabulary must outlive it.
  explicit Detokenizer(const Vocabulary& vocabulary, const DetokenizeOptions& options = {});

  /// The characters that `id` completes; often one token's text, sometimes empty. `id` must be in the vocabulary.
  [[nodiscard]] std::string push(TokenId id);

  /// What is left of an unfinished character, as U+FFFD. The detokeniser then starts anew.
  [[nodiscard]] std::string finish();

 private:
  const Vocabulary& vocabulary_;
  DetokenizeOptions options_;
  std::string pending_;  // bytes not handed out: between pushes, the beginning of one character
  bool drops_space_;     // the next byte is dropped if it is a space
};

/// The text of all `ids` at once.
[[nodiscard]] std::string detokenize(const Vocabulary& vocabulary, std::span<const TokenId> ids,
                                     const DetokenizeOptions& options = {});

}  // namespace plm
