// Unigram: of all ways to spell a piece with tokens, the one whose scores (log-probabilities) sum highest.
//
// Source: Kudo, "Subword regularization" (2018), section 3.2; the search is Viterbi's, from left to right over bytes,
// in doubles as SentencePiece does it: of equal sums the token that begins first stays. A character that no token of
// its own spells costs the lowest score less ten; neighbours of that kind make one unknown token, or byte tokens. Cost:
// the text's length times the longest token that agrees. Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "text/piece_model.h"
#include "text/prefix_tree.h"
#include "text/vocabulary.h"

namespace plm {

struct UnigramRules {
  bool byte_fallback = false;        ///< unknown characters become <0xNN> where all of their bytes have tokens
  std::optional<TokenId> unknown{};  ///< else this; what nothing spells is left out where there is none
};

class Unigram final : public PieceModel {
 public:
  /// `vocabulary` must outlive it.
  Unigram(const Vocabulary& vocabulary, const UnigramRules& rules);

  [[nodiscard]] std::unique_ptr<PieceEncoder> encoder(std::size_t text_bytes) const override;
  [[nodiscard]] bool spells_byte(unsigned char) const override { return false; }
  [[nodiscard]] std::size_t first_part(std::string_view text) const override;

 private:
  class Encoder;
  [[nodiscard]] double score(TokenId id) const;

  const Vocabulary& vocabulary_;
  UnigramRules rules_;
  PrefixTree tokens_;
  double unknown_score_ = 0;
  std::array<TokenId, 256> byte_tokens_;
  bool marks_begin_tokens_ = true;  // "▁" stands nowhere but at a token's beginning
};

}  // namespace plm
