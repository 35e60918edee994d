// How much a text repeats itself. Tokens are ids; undefined results are nothing, never 0.
// Source: reference metrics.md; rep-n and rep-l: Welleck et al., arXiv 1908.04319.
// Tested by tests/lab/test_repetition.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace plm {

using Tokens = std::span<const std::int32_t>;

/// Share of n-grams that occurred before; nothing for fewer than n tokens.
[[nodiscard]] std::optional<double> repeated_ngrams(Tokens tokens, std::size_t n);

/// Share of tokens that are among the `window` before them.
[[nodiscard]] std::optional<double> repeated_tokens(Tokens tokens, std::size_t window);

/// Length of the longest span that stands at two places, which may overlap or not.
[[nodiscard]] std::size_t longest_repeat(Tokens tokens, bool may_overlap);

/// A text that ends in copies of one span.
struct TailLoop {
  std::size_t period = 0;
  std::size_t copies = 0;  ///< whole ones
  std::size_t cover = 0;   ///< tokens
  friend bool operator==(const TailLoop&, const TailLoop&) = default;
};
struct LoopRule {
  std::size_t most_period = 256;
  std::size_t least_copies = 3;
  std::size_t least_cover = 48;
};
/// The loop of the smallest period at the end of the tokens, if there is one.
[[nodiscard]] std::optional<TailLoop> tail_loop(Tokens tokens, const LoopRule& rule);

/// The window of `window` tokens whose n-grams repeat most: its share, and where it begins. Nothing for shorter texts.
struct WorstWindow {
  double share = 0;
  std::size_t begin = 0;
};
[[nodiscard]] std::optional<WorstWindow> most_repeated_window(Tokens tokens, std::size_t n, std::size_t window);

}  // namespace plm
