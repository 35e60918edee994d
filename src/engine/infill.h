// Texts with holes, and what a model is given to fill them: given tokens around open cells for one that fills masks, or
// a prompt of fill-in-the-middle tokens for one that writes token after token.
//
// A template writes a hole as {{hole:12}}, of 12 tokens at most, or as {{hole}}. Sources: datasheet, infill; Bavarian
// et al., "Efficient training of language models to fill in the middle", 2022 (prefix, suffix, middle: the order here).
// Tested by tests/engine/test_infill.cpp, tests/fuzz/fuzz_infill.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decode/decoder.h"
#include "text/tokenizer.h"

namespace plm {

struct InfillLimits {
  std::size_t holes = 4096;
  std::size_t hole_length = 1U << 20;  ///< tokens
};

/// text 0, hole 0, text 1, ... : one more texts than holes.
struct HoleyText {
  std::vector<std::string> texts;
  std::vector<std::size_t> lengths;  ///< of the holes, in tokens
};

/// `hole_length`: of holes that do not say theirs. Errors (usage): no hole, a hole of no or bad length, too many.
[[nodiscard]] Result<HoleyText> parse_holes(std::string_view text, std::optional<std::size_t> hole_length = {},
                                            const InfillLimits& limits = {});

/// \n, \t, \r, \\ and \" as the characters that they stand for; other backslashes stay.
[[nodiscard]] std::string unescaped(std::string_view text);

/// The ids of a text that goes on from another: nothing is put around or in front.
/// Errors: those of Tokenizer::encode.
[[nodiscard]] Result<std::vector<TokenId>> encode_continuation(const Tokenizer& tokenizer, std::string_view text,
                                                               const EncodeOptions& options);

/// What a model that fills masks is given.
struct GivenAndHoles {
  std::vector<TokenId> given;
  std::vector<Hole> holes;
};
/// `options`: of the first text, which what the model expects in front of a text goes before.
[[nodiscard]] Result<GivenAndHoles> encode_holes(const Tokenizer& tokenizer, const HoleyText& text,
                                                 const EncodeOptions& options);

/// Whether the vocabulary has the three tokens that ask for the middle of a text.
[[nodiscard]] bool fills_in_the_middle(const Vocabulary& vocabulary);
/// The prompt behind which such a model writes what stands between the two.
[[nodiscard]] Result<std::vector<TokenId>> fill_in_the_middle_prompt(const Tokenizer& tokenizer,
                                                                     std::string_view before, std::string_view behind,
                                                                     const EncodeOptions& options);

/// The noise of the masking process at time `strength` in [0, 1]: every token is masked with that probability, by
/// random numbers of `seed` and its place; one is masked at least. Runs of masked tokens, as holes behind `ahead` given
/// ones; the given tokens are what is left.
[[nodiscard]] GivenAndHoles masked_at_random(std::span<const TokenId> tokens, std::size_t ahead, double strength,
                                             std::uint64_t seed);

}  // namespace plm
