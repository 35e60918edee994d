// What happens to a text before it is cut: a list of steps, each of which rewrites the whole text.
//
// The steps are those of Hugging Face tokenizers (normalizer in tokenizer.json); files in GGUF imply a few of them by
// their kind. All take and give well-formed UTF-8, except replace_text and prepend_text, which take any bytes.
// Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/charsmap.h"
#include "text/pattern.h"
#include "text/unicode_form.h"

namespace plm {

/// Rewrites a text. Errors (failed): an expression exceeds its limits on it. Thread-safe.
using NormalizerStep = std::function<Result<std::string>(std::string_view)>;

[[nodiscard]] NormalizerStep unicode_form_step(UnicodeForm form);
[[nodiscard]] NormalizerStep lower_case_step();
/// All combining marks go, those with a width as well.
[[nodiscard]] NormalizerStep strip_marks_step();
/// Puts `prefix` in front of a text that is not empty.
[[nodiscard]] NormalizerStep prepend_text_step(std::string prefix);
[[nodiscard]] NormalizerStep replace_text_step(std::string text, std::string replacement);
[[nodiscard]] NormalizerStep replace_pattern_step(Pattern pattern, std::string replacement);
/// Takes White_Space away at the beginning, the end, or both.
[[nodiscard]] NormalizerStep strip_spaces_step(bool left, bool right);
/// `by_grapheme`: as Hugging Face tokenizers apply the map; otherwise as SentencePiece does.
[[nodiscard]] NormalizerStep charsmap_step(std::shared_ptr<const Charsmap> map, bool by_grapheme);
/// Bytes become the characters of the byte alphabet.
[[nodiscard]] NormalizerStep byte_alphabet_step();
/// Control characters go, all kinds of spaces become U+0020, ligature-like signs of SentencePiece's NMT rules.
[[nodiscard]] NormalizerStep nmt_step();

/// BERT's cleaning (Devlin et al., 2018, and the tokeniser published with it).
struct BertNormalization {
  bool cleans = true;          ///< control characters go, white space becomes a space
  bool spaces_chinese = true;  ///< a space on both sides of each ideograph
  bool strips_accents = true;
  bool lower_case = true;
};
[[nodiscard]] NormalizerStep bert_step(const BertNormalization& rules);

/// SentencePiece's treatment of spaces, which become U+2581.
struct SpaceRules {
  bool prepends = true;  ///< one in front of the text
  bool merges = true;    ///< runs become one; none stays at the beginning and the end
};
[[nodiscard]] NormalizerStep space_marks_step(const SpaceRules& rules);

class Normalizer {
 public:
  void add(NormalizerStep step) { steps_.push_back(std::move(step)); }
  [[nodiscard]] bool is_identity() const { return steps_.empty(); }
  [[nodiscard]] Result<std::string> apply(std::string_view text) const;

 private:
  std::vector<NormalizerStep> steps_;
};

}  // namespace plm
