// Text to tokens: splits at special tokens, gives the ordinary text between them to the pipeline of the vocabulary's
// kind, and puts around it what the model expects.
//
// User-defined tokens are always kept whole. Control tokens are recognised only when asked for: in the words of a user
// "<|im_end|>" is ten characters of ordinary text. A vocabulary whose encoder is not written yet loads all the same,
// for use by ids; only encoding is refused.
// Immutable, so threads may share it. Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/added_tokens.h"
#include "text/huggingface_pipeline.h"
#include "text/jinja/marked_text.h"
#include "text/text_pipeline.h"
#include "text/vocabulary.h"

namespace plm {

struct EncodeOptions {
  bool add_special = true;     ///< add what the model expects around a text: beginning, end, separator
  bool parse_special = false;  ///< the texts of control tokens become those tokens: for templates, never for messages
};

class Tokenizer {
 public:
  /// A file that carries a tokenizer.json (huggingface_vocabulary.h) is read by that. Errors (bad_input) name the file
  /// and the key. The tokeniser keeps the file open.
  static Result<std::shared_ptr<const Tokenizer>> load(std::shared_ptr<const GgufFile> file);

  /// The same from the texts of tokenizer.json and, if not empty, tokenizer_config.json; `name` is what errors call the
  /// folder. Errors (bad_input) name it, the file and the field.
  static Result<std::shared_ptr<const Tokenizer>> load_huggingface(std::string_view tokenizer_json,
                                                                   std::string_view tokenizer_config_json,
                                                                   std::string name);

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

  /// The ids of `text`. A beginning-of-text token that the text brings itself (parse_special) is not added again.
  /// Errors: bad_input (this kind of tokeniser has no encoder yet), usage (the text cannot be spelled, is too long).
  [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The same for what a chat template made: texts of control tokens become those tokens where the template wrote all
  /// of them, never where a message did. With parse_special they do anywhere.
  [[nodiscard]] Result<std::vector<TokenId>> encode(const jinja::MarkedText& text,
                                                    const EncodeOptions& options = {}) const;

  /// What the model expects around a text and between two.
  [[nodiscard]] const Surroundings& surroundings() const { return around_; }

  /// What is odd but usable: one sentence each, naming file and key.
  [[nodiscard]] std::span<const std::string> warnings() const { return warnings_; }

 private:
  class Run;
  // The first added token at byte `at` or later.
  using Finder = std::function<std::optional<SpecialMatcher::Match>(std::size_t at)>;
  [[nodiscard]] Result<std::vector<TokenId>> encode_between(std::string_view text, const Finder& find,
                                                            const EncodeOptions& options) const;

  explicit Tokenizer(Vocabulary vocabulary);
  static Result<std::shared_ptr<const Tokenizer>> load_parts(const HuggingfaceTokenizer& tokenizer,
                                                             std::shared_ptr<const GgufFile> vocabulary);

  Vocabulary vocabulary_;
  std::unique_ptr<const TextPipeline> pipeline_;  // null: not written yet
  AddedTokens in_raw_text_;                       // looked for before the text is normalised
  AddedTokens in_normal_text_;                    // and after
  Surroundings around_;
  std::vector<std::string> warnings_;
};

}  // namespace plm
