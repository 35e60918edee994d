// Byte pair encoding: a piece of text starts as single bytes or characters, and of all neighbours that may merge those
// with the best rank do, leftmost first, until none is left.
//
// Source: Sennrich et al., "Neural machine translation of rare words with subword units" (2016); Radford et al. (2019)
// for bytes; Kudo and Richardson, "SentencePiece" (2018) for merges that follow from the scores of the tokens. Cost:
// n log n in the bytes of a piece (a heap over linked symbols); pieces are cut where no token goes across. What no
// token spells becomes byte tokens where the vocabulary has them, else the unknown token where it has one; else it is
// left out, as the references do. Tested by tests/text/test_bpe.cpp (against a naive version) and test_tokenizer.cpp.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/merge_list.h"
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
  // Where a text can be cut because no token goes across: between most kinds of characters nothing ever merges.
  struct Cuts {
    std::bitset<256> before_mark;           // last bytes that stand before a "▁" within some token
    std::vector<unsigned char> neighbours;  // [last byte of a character << 8 | first byte of the next]: within a token
  };

  Bpe(const Vocabulary& vocabulary, const BpeRules& rules, MergeList merges);
  void find_byte_tokens();
  [[nodiscard]] bool cuts_pieces() const { return rules_.starts_as_characters && !rules_.whole_pieces; }
  void find_cuts() const;
  [[nodiscard]] bool is_text(TokenId id) const;
  [[nodiscard]] bool spells_bytes(std::string_view text) const;
  [[nodiscard]] bool may_drop() const { return !rules_.ranks_by_score && !rules_.unknown; }
  [[nodiscard]] bool drops(std::string_view character) const;
  [[nodiscard]] TokenId find_text(std::string_view text) const;

  const Vocabulary& vocabulary_;
  BpeRules rules_;
  MergeList merges_;
  std::array<TokenId, 256> byte_tokens_;     // kNoToken where the vocabulary has none
  std::array<TokenId, 128> ascii_tokens_{};  // of pieces that start as characters
  // Of pieces that start as characters, found when a text is first encoded.
  mutable std::once_flag cuts_found_;
  mutable Cuts cuts_;
};

}  // namespace plm
