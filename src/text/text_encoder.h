// The algorithm that cuts ordinary text into tokens: one subclass for each kind of tokeniser.
//
// Special tokens and what is put around a text are Tokenizer's business; an encoder never sees them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/token.h"

namespace plm {

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  /// Appends the ids of `text`, which stands at byte `offset` of the text that the user gave (0: it begins it).
  /// Thread-safe. Errors name the place by its offset in the user's text.
  virtual Result<void> encode(std::string_view text, std::size_t offset, std::vector<TokenId>& ids) const = 0;
};

}  // namespace plm
