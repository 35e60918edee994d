// The tokens that a model's file names for a purpose: where they are written, and how files that forgot to write them
// are read.
//
// Source: the GGUF specification (tokenizer.ggml.*_token_id); the texts are those of the published tokenisers, found
// the same way by other engines. Tested by tests/text/test_special_tokens.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/gguf.h"
#include "text/text_index.h"
#include "text/token.h"

namespace plm {

enum class SpecialToken {
  bos,        ///< begins a text
  eos,        ///< ends a text
  eot,        ///< ends a turn of a conversation
  eom,        ///< ends a message that waits for a tool
  unknown,    ///< stands for what the vocabulary cannot spell
  separator,  ///< between two texts
  padding,
  mask,        ///< the token shown at a masked position
  classify,    ///< begins a text for an encoder
  fim_prefix,  ///< before what stands before the gap (fill in the middle)
  fim_suffix,  ///< before what stands after the gap
  fim_middle,  ///< asks for the gap
  fim_padding,
  fim_repository,  ///< before the name of a repository
  fim_separator,   ///< between files
};
inline constexpr std::size_t kSpecialTokenCount = 15;

class SpecialTokens {
 public:
  /// Reads the ids from `file`; what it does not name is looked for by text. `types` may be used to tell text from
  /// markers. Errors (bad_input): an id of the wrong type or outside the vocabulary.
  static Result<SpecialTokens> load(const GgufFile& file, const TextIndex& texts, std::span<const TokenType> types);

  [[nodiscard]] std::optional<TokenId> find(SpecialToken purpose) const {
    return ids_[static_cast<std::size_t>(purpose)];
  }

  /// The tokens after which nothing more is generated, ascending.
  [[nodiscard]] std::span<const TokenId> end_of_generation() const { return end_of_generation_; }

 private:
  std::array<std::optional<TokenId>, kSpecialTokenCount> ids_;
  std::vector<TokenId> end_of_generation_;
};

}  // namespace plm
