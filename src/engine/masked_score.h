// How probable a text is under a model that fills masks. Such a model has no probability of a text, but a lower bound
// of its logarithm: hide l of the text's L tokens, l and the places at random, and take L / l times the sum of the
// hidden tokens' log-probabilities given the rest; the mean of that is the bound (LLaDA, arXiv 2502.09992, equation 14:
// the mean over all orders of writing the text one token after another). Estimated with numbers l spread evenly over 1
// to L.
//
// Models that write block by block have such a bound for every block given those before, and it is their sum. Where the
// row before a block speaks for its first token (shifted logits), that token has a probability, and the bound is of the
// others; the first token of all then has none and is not scored.
// What encoders expect behind a text ([SEP]) is shown and not scored.
// The pseudo-log-likelihood (Salazar et al., "Masked language model scoring", 2020) hides one token at a time; it is a
// score, no probability. Equal seeds give equal bits. Tested by tests/engine/test_masked_score.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/score.h"

namespace plm {

struct BoundOptions {
  std::size_t draws = 128;  ///< of every block; an odd number counts as the next even one
  std::uint64_t seed = 0;
};

struct BoundEstimate {
  double log_probability = 0;  ///< the bound, natural
  double standard_error = 0;   ///< of the estimate; 0: it is exact
  std::size_t tokens = 0;      ///< scored
  std::size_t passes = 0;
};

/// `text` behind `given` tokens, which are not scored. `on_part` is told how much is done, in [0, 1].
/// Errors: as Engine::check_prompt; the model does not fill masks (usage); NaN logits; interrupted.
Result<BoundEstimate> score_bound(Engine& engine, std::span<const TokenId> given, std::span<const TokenId> text,
                                  const BoundOptions& options = {}, const std::function<void(double)>& on_part = {},
                                  const std::function<bool()>& interrupted = {});

/// Each token of `text` given all others of its block and what is before. `on_position` is called in order.
/// Errors: as score_bound's.
Result<Score> score_pseudo(Engine& engine, std::span<const TokenId> given, std::span<const TokenId> text,
                           const std::function<void(const ScoredPosition&)>& on_position,
                           const std::function<bool()>& interrupted = {});

}  // namespace plm
