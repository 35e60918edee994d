// Cuts text into the pieces that BPE merges within: words, numbers, runs of punctuation, spaces.
//
// Each tokeniser does it with a list of regular expressions, applied one after the other: every match becomes a piece
// of its own, what lies between matches too, and the next expression cuts each piece further (the "Split, isolated"
// rule of Hugging Face tokenizers). The expressions are data; a new pre-tokeniser is a new row in pre_tokenizer.cpp.
// Tested by tests/text/test_pre_tokenizer.cpp, and against the oracle by test_tokenizer.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/pattern.h"

namespace plm {

/// What a value of tokenizer.ggml.pre means.
struct PreTokenizerRow {
  std::string_view names;  ///< separated by ", "
  std::span<const std::string_view> expressions;
  bool nfc = false;           ///< text is brought to Unicode's composed form first
  bool whole_pieces = false;  ///< a piece that is a token is one, whatever the merges say
  bool add_bos = false;       ///< a beginning-of-text token is put in front where the file is silent
};

/// The row with this name; nullptr when there is none.
[[nodiscard]] const PreTokenizerRow* find_pre_tokenizer(std::string_view name);

/// All known names, for messages.
[[nodiscard]] std::string pre_tokenizer_names();

class PreTokenizer {
 public:
  /// Errors (bad_input): an expression that does not compile.
  static Result<PreTokenizer> compile(std::span<const std::string_view> expressions);

  /// Appends the pieces of `text`, well-formed UTF-8, in order; joined they are the text. Thread-safe.
  /// Errors (failed): an expression exceeds its limits on this text.
  Result<void> split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  Result<void> split_from(std::size_t level, std::string_view text, PatternSearch& search,
                          std::vector<std::string_view>& pieces) const;

  std::vector<Pattern> patterns_;
};

}  // namespace plm
