// Scoring: how probable a given text is under the model, token by token, and what the model would have preferred.
// Tested by tests/engine/test_score.cpp.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "sampling/log_probabilities.h"

namespace plm {

struct ScoredPosition {
  TokenId id = kNoToken;
  std::optional<double> log_probability;  ///< of `id` given what came before; none for the first token
  std::vector<TokenLogProbability> top;   ///< the likeliest next tokens after `id`
};

struct Score {
  std::size_t tokens = 0;          ///< tokens that have a probability: all but the first
  double log_probability_sum = 0;  ///< natural
  /// exp of the mean negative log-probability; 1 when nothing was scored.
  [[nodiscard]] double perplexity() const;
};

/// Scores `ids`; `top` likeliest tokens are kept per position. `on_position` is called in order. `interrupted` is asked
/// between chunks. Errors: as Engine::check_prompt; NaN logits; interrupted.
Result<Score> score(Engine& engine, std::span<const TokenId> ids, std::size_t top,
                    const std::function<void(const ScoredPosition&)>& on_position,
                    const std::function<bool()>& interrupted = {});

}  // namespace plm
