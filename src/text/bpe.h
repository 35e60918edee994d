// Byte-level byte pair encoding: a piece of text starts as single bytes, and of all neighbours that may merge those
// with the lowest rank do, leftmost first, until none is left.
//
// Source: Sennrich et al., "Neural machine translation of rare words with subword units" (2016); Radford et al. (2019)
// for bytes. Cost: n log n in the bytes of a piece (a heap over linked symbols), and a piece seen before in the same
// text is copied. Bytes of ill-formed UTF-8 form pieces of their own and are kept; where the vocabulary has no token
// for such a byte the text is refused. A character of well-formed text that no token spells is left out, as the
// references do. Tested by tests/text/test_bpe.cpp (against a naive version) and test_tokenizer.cpp.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/merge_table.h"
#include "text/pre_tokenizer.h"
#include "text/text_encoder.h"
#include "text/vocabulary.h"

namespace plm {

class Bpe final : public TextEncoder {
 public:
  /// Reads the merges and the pre-tokeniser's name from the vocabulary's file; `vocabulary` must outlive the result.
  /// What is odd but usable is appended to `warnings`.
  /// Errors (bad_input): no merges, a merge without a space, an unknown pre-tokeniser.
  static Result<std::unique_ptr<Bpe>> load(const Vocabulary& vocabulary, std::vector<std::string>& warnings);

  Result<void> encode(std::string_view text, std::size_t offset, std::vector<TokenId>& ids) const override;

 private:
  class PieceEncoder;

  Bpe(const Vocabulary& vocabulary, const PreTokenizerRow& rules, PreTokenizer pre_tokenizer, MergeTable merges);
  Result<void> encode_well_formed(std::string_view text, std::vector<TokenId>& ids) const;
  Result<void> encode_ill_formed(std::string_view bytes, std::size_t offset, std::vector<TokenId>& ids) const;

  const Vocabulary& vocabulary_;
  const PreTokenizerRow& rules_;
  PreTokenizer pre_tokenizer_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_tokens_;  // kNoToken where the vocabulary has none
};

}  // namespace plm
