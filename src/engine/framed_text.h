// Texts as a model reads them whole: cut to a length, with what belongs around a text and between the two of a pair.
// A text is cut at its end, a pair where it is longer, as transformers does (longest first); what is around stays.
// Tested by tests/engine/test_framed_text.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace plm {

struct FramedText {
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> types;  ///< of a pair: 0 or 1 for each token; else empty
  bool is_cut = false;
};

/// `most_tokens` bounds the result, with what is around it. Errors: the tokeniser's; usage: no room for any text.
[[nodiscard]] Result<FramedText> frame_text(const Tokenizer& tokenizer, std::string_view text, std::size_t most_tokens);
[[nodiscard]] Result<FramedText> frame_pair(const Tokenizer& tokenizer, std::string_view first, std::string_view second,
                                            std::size_t most_tokens);

}  // namespace plm
