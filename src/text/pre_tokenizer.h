// Cuts text into the pieces that BPE merges within: words, numbers, runs of punctuation, spaces.
//
// Files in GGUF name a list of regular expressions, applied one after the other; they are data, and a new name is a new
// row in pre_tokenizer_rows.cpp. tokenizer.json spells its steps out (huggingface_pipeline.h).
// Tested by tests/text/test_pre_tokenizer.cpp, and against the oracle by test_tokenizer.cpp.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/pieces.h"
#include "text/word_scanner.h"

namespace plm {

/// What a value of tokenizer.ggml.pre means.
struct PreTokenizerRow {
  std::string_view names;  ///< separated by ", "
  std::span<const std::string_view> expressions;
  WordScanner scanner = nullptr;  ///< the same as `expressions`, by hand
  bool nfc = false;               ///< text is brought to Unicode's composed form first
  bool whole_pieces = false;      ///< a piece that is a token is one, whatever the merges say
  bool add_bos = false;           ///< a beginning-of-text token is put in front where the file is silent
};

/// The row with this name; nullptr when there is none.
[[nodiscard]] const PreTokenizerRow* find_pre_tokenizer(std::string_view name);

/// All known names, for messages.
[[nodiscard]] std::string pre_tokenizer_names();

/// The scanner that does the same as these expressions; null when there is none.
[[nodiscard]] WordScanner find_word_scanner(std::span<const std::string_view> expressions);

/// The first name in GGUF that stands for these expressions; empty when there is none.
[[nodiscard]] std::string_view find_pre_tokenizer_name(std::span<const std::string_view> expressions);

/// Cuts every piece further, or rewrites it. Thread-safe. Errors (failed): an expression exceeds its limits.
using PreTokenizerStep = std::function<Result<void>(Pieces&)>;

class PreTokenizer {
 public:
  /// One step an expression: each match becomes a piece of its own, and what lies between too ("Split, isolated").
  /// Where a hand-written scanner does the same, it is used. Errors (bad_input): an expression that does not compile.
  static Result<PreTokenizer> compile(std::span<const std::string_view> expressions);

  void add(PreTokenizerStep step);

  /// Cuts the text that `pieces` holds, well-formed UTF-8. Thread-safe.
  Result<void> cut(Pieces& pieces) const;

  /// Does all that the steps do, one piece after another; null where there is none.
  [[nodiscard]] WordScanner scanner() const { return scanner_; }

 private:
  std::vector<PreTokenizerStep> steps_;
  WordScanner scanner_ = nullptr;
};

/// White space goes, each punctuation character is a piece: what BERT does.
void add_bert_steps(PreTokenizer& pre_tokenizer);

}  // namespace plm
