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
  std::optional<double> divergence;       ///< of the distribution after `id` from the exact one, nat; if compared
};

struct Score {
  std::size_t tokens = 0;          ///< tokens that have a probability: all but the first
  double log_probability_sum = 0;  ///< natural
  std::size_t compared = 0;        ///< positions that were compared with an exact run
  double divergence_sum = 0;       ///< of these, D(exact || this), nat
  std::size_t same_best = 0;       ///< of these, where both have the same likeliest next token
  /// exp of the mean negative log-probability; 1 when nothing was scored.
  [[nodiscard]] double perplexity() const;
  /// 0 when nothing was compared.
  [[nodiscard]] double mean_divergence() const;
  /// Of several texts.
  Score& operator+=(const Score& other);
};

struct ScoreRequest {
  std::span<const TokenId> ids;
  std::size_t top = 0;          ///< likeliest tokens to keep for each position
  SideMemory* exact = nullptr;  ///< of the same engine: also compute the text there, and compare
};

/// Scores a text. `on_position` is called in order. `interrupted` is asked between chunks.
/// Errors: as Engine::check_prompt; NaN logits; interrupted.
Result<Score> score(Engine& engine, const ScoreRequest& request,
                    const std::function<void(const ScoredPosition&)>& on_position,
                    const std::function<bool()>& interrupted = {});

}  // namespace plm
