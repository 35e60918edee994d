// What samplers may ask about a vocabulary, answered from the model's own. Tested by tests/engine/test_engine.cpp.
#pragma once

#include "sampling/token_texts.h"
#include "text/tokenizer.h"

namespace plm {

class VocabularyTexts : public TokenTexts {
 public:
  /// The tokeniser must outlive the object.
  explicit VocabularyTexts(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  std::size_t size() const override { return vocabulary().size(); }
  std::string text(std::int32_t id) const override {
    std::string bytes;
    vocabulary().append_bytes(id, bytes);
    return bytes;
  }
  std::vector<std::int32_t> end_tokens() const override {
    const auto tokens = vocabulary().end_of_generation();
    return {tokens.begin(), tokens.end()};
  }
  std::optional<std::int32_t> end_of_text() const override {
    const auto end_of_turn = vocabulary().special(SpecialToken::eot);
    return end_of_turn.has_value() ? end_of_turn : vocabulary().special(SpecialToken::eos);
  }
  /// Nothing when the text cannot be spelled.
  std::vector<std::int32_t> encode(std::string_view text) const override {
    return tokenizer_.encode(text, {.add_special = false}).value_or(std::vector<TokenId>{});
  }

 private:
  [[nodiscard]] const Vocabulary& vocabulary() const { return tokenizer_.vocabulary(); }

  const Tokenizer& tokenizer_;
};

}  // namespace plm
