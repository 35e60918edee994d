// Byte pair encoding: a piece of text starts as single bytes or characters, and of all neighbours that may merge those
// with the best rank do, leftmost first, until none is left.
//
// Source: Sennrich et al., "Neural machine translation of rare words with subword units" (2016); Radford et al. (2019)
// for bytes; Kudo and Richardson, "SentencePiece" (2018) for merges that follow from the scores of the tokens. Cost:
// n log n in the bytes of a piece (a heap over linked symbols). What no token spells becomes byte tokens where the
// vocabulary has them, else the unknown token where it has one; else it is left out, as the references do.
// Tested by tests/text/test_bpe.cpp (against a naive version) and test_tokenizer.cpp.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/merge_table.h"
#include "text/piece_model.h"
#include "text/vocabulary.h"

namespace plm {

struct BpeRules {
  bool starts_as_characters = false;  ///< of the piece as it is; otherwise bytes in the byte alphabet
  bool ranks_by_score = false;        ///< neighbours merge when together they are a token, the best score first
  bool whole_pieces = false;          ///< a piece that is a token is one, whatever the merges say
  bool byte_fallback = false;         ///< characters without a token become <0xNN>
  bool fuses_unknown = false;         ///< unknown characters in a row make one unknown token
  std::optional<TokenId> unknown{};   ///< for characters that nothing spells
};

class Bpe final : public PieceModel {
 public:
  /// Reads the merges from the vocabulary's file unless they follow from scores; `vocabulary` must outlive the result.
  /// What is odd but usable is appended to `warnings`. Errors (bad_input): no merges, a merge without a space.
  static Result<std::unique_ptr<Bpe>> load(const Vocabulary& vocabulary, const BpeRules& rules,
                                           std::vector<std::string>& warnings);

  [[nodiscard]] std::unique_ptr<PieceEncoder> encoder(std::size_t text_bytes) const override;
  [[nodiscard]] bool spells_byte(unsigned char byte) const override { return byte_tokens_[byte] != kNoToken; }
  [[nodiscard]] std::size_t first_part(std::string_view text) const override;

 private:
  class Encoder;

  Bpe(const Vocabulary& vocabulary, const BpeRules& rules, MergeTable merges);
  void find_byte_tokens();
  void find_joints();
  [[nodiscard]] bool is_text(TokenId id) const;
  [[nodiscard]] bool spells_bytes(std::string_view text) const;
  [[nodiscard]] bool drops(std::string_view character) const;
  [[nodiscard]] TokenId find_text(std::string_view text) const;

  const Vocabulary& vocabulary_;
  BpeRules rules_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_tokens_;     // kNoToken where the vocabulary has none
  std::array<TokenId, 128> ascii_tokens_{};  // of pieces that start as characters
  // Of pieces that start as characters: the last bytes that stand before a "▁" within some token. Between any other
  // byte and "▁" nothing can ever merge.
  std::bitset<256> joints_;
};

}  // namespace plm
