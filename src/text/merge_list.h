// The list of merges of a BPE vocabulary (tokenizer.ggml.merges: two tokens with a space between, best first), by what
// each makes: a merge is known by the token that it makes and the size of its left part.
//
// Published lists are sorted by the token that is made, or nearly: all ways to make a token stand in a row, and the
// tokens are in order of their ids. So reading needs next to no look-ups and keeps two numbers a token and one a merge
// instead of a table of pairs; merges of a list in any other order go into such a table.
// Tested by tests/text/test_merge_list.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "text/merge_table.h"
#include "text/vocabulary.h"

namespace plm {

/// What two neighbours become.
struct Merge {
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFFU;

  std::uint32_t rank = kNoRank;  ///< the lowest merges first; kNoRank: they do not merge
  TokenId product = kNoToken;
};

class MergeList {
 public:
  MergeList() = default;  ///< of no merges
  /// The merges of the vocabulary's file. Those that make what is no token, and those that would make a control token
  /// of ordinary text, are left out; that they exist is appended to `warnings`.
  /// Errors (bad_input): no list, or a merge without a space.
  static Result<MergeList> load(const Vocabulary& vocabulary, std::vector<std::string>& warnings);

  /// Place in the list of the merge that makes `product` of a left token of `left_bytes` bytes and a right one; kNoRank
  /// when there is none. Of equal merges the first counts.
  [[nodiscard]] std::uint32_t rank(TokenId product, std::size_t left_bytes) const;

 private:
  class Builder;

  // The merges in the list that make one token: those that stand together where the first of them does.
  struct Run {
    std::uint32_t count = 0, end = 0;  // end: behind the last one
  };
  AlignedBuffer memory_;                 // of the two below: most of the time went into touching fresh small pages
  std::span<Run> runs_;                  // by the token that is made
  std::span<std::uint16_t> left_sizes_;  // by rank, bytes
  MergeTable others_;
};

}  // namespace plm
