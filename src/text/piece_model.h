// The algorithm that makes tokens of one piece of text: one subclass for each kind (BPE, Unigram, WordPiece).
//
// Special tokens, normalisation and the cutting into pieces are TextPipeline's and Tokenizer's business.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace plm {

/// What one thread needs while it encodes a text.
class PieceEncoder {
 public:
  virtual ~PieceEncoder() = default;

  /// Appends the ids of `piece`, which depend on nothing else. Bytes of ill-formed UTF-8 may stand in it only where the
  /// model spells them.
  virtual void append(std::string_view piece, std::vector<TokenId>& ids) = 0;
};

class PieceModel {
 public:
  virtual ~PieceModel() = default;

  /// For a text of that many bytes: what it may remember is in proportion. The model must outlive it. Thread-safe.
  [[nodiscard]] virtual std::unique_ptr<PieceEncoder> encoder(std::size_t text_bytes) const = 0;

  /// Whether a token stands for the single byte, so that text which is no UTF-8 can be kept.
  [[nodiscard]] virtual bool spells_byte(unsigned char byte) const = 0;

  /// Where `text`, not empty, can be cut so that its parts give the same ids: length of the first part. The parts are
  /// short where possible, since equal parts are encoded once. Asked after encoder() was.
  [[nodiscard]] virtual std::size_t first_part(std::string_view text) const { return text.size(); }
};

}  // namespace plm
