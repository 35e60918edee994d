// WordPiece: a word becomes the longest token that it begins with, the rest the longest continuing token, and so on; a
// word that cannot be spelled to its end is one unknown token.
//
// Source: Devlin et al., "BERT" (2018), and the tokeniser published with it. Files in GGUF write "▁" before tokens that
// begin a word and nothing before those that continue one. Cost: the word's length times the longest token's.
// Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "text/piece_model.h"
#include "text/prefix_tree.h"
#include "text/vocabulary.h"

namespace plm {

struct WordPieceRules {
  std::size_t max_word_characters = 100;  ///< a longer word is unknown
  std::optional<TokenId> unknown{};
};

class WordPiece final : public PieceModel {
 public:
  /// `vocabulary` must outlive it.
  WordPiece(const Vocabulary& vocabulary, const WordPieceRules& rules);

  [[nodiscard]] std::unique_ptr<PieceEncoder> encoder(std::size_t text_bytes) const override;
  [[nodiscard]] bool spells_byte(unsigned char) const override { return false; }

 private:
  class Encoder;

  WordPieceRules rules_;
  PrefixTree beginning_, continuing_;
};

}  // namespace plm
