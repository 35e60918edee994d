// What a token is: its number and what kind of thing it stands for.
#pragma once

#include <cstdint>

namespace plm {

/// Number of a token: its place in the vocabulary and its row in the embedding.
using TokenId = std::int32_t;

/// No token at all.
inline constexpr TokenId kNoToken = -1;

/// Kinds of tokens with their numbers in a model file (tokenizer.ggml.token_type).
enum class TokenType : std::uint8_t {
  normal = 1,        ///< a piece of ordinary text
  unknown = 2,       ///< stands for text that the vocabulary cannot spell
  control = 3,       ///< steers the model and is no text: <|im_start|>, </s>
  user_defined = 4,  ///< a piece of text that is always kept whole
  unused = 5,        ///< a place holder
  byte = 6,          ///< one byte, written <0xNN>
};

}  // namespace plm
