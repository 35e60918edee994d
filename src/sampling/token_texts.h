// What samplers may ask about the vocabulary: the bytes of a token and whether it ends a text. Sampling knows floats
// and ids only; the few samplers whose rule speaks of text (dry's breakers, infill, min_tokens) get this from the
// caller. Tested by tests/sampling/samplers/test_sampler_dry.cpp and test_sampler_infill.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plm {

class TokenTexts {
 public:
  virtual ~TokenTexts() = default;
  /// Tokens in the vocabulary; 0: nothing is known.
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// The bytes that a token, 0 <= id < size(), adds to a text.
  [[nodiscard]] virtual std::string text(std::int32_t id) const = 0;
  /// The tokens after which nothing more is written.
  [[nodiscard]] virtual std::vector<std::int32_t> end_tokens() const = 0;
  /// The token that stands for the end where none is likelier.
  [[nodiscard]] virtual std::optional<std::int32_t> end_of_text() const = 0;
  /// The tokens of a text, nothing added and nothing special.
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
};

/// A vocabulary of which nothing is known: no text matches, no token ends.
[[nodiscard]] const TokenTexts& unknown_texts();

}  // namespace plm
