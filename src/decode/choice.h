// A token chosen for an open cell, with what was asked about it: log-probabilities and a trace.
//
// "model" log-probabilities are those of softmax(logits) over the whole vocabulary, before anything is done to them;
// "masked" ones the same among the tokens that a constraint allows; "chain" ones those of the candidates that the
// samplers left, in which a removed token has -inf. Tested by tests/decode/test_choice.cpp.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "decode/decoder.h"
#include "sampling/token_trace.h"

namespace plm {

struct Choice {
  Selection selection;
  double log_probability = 0;  ///< natural; only if asked for
  std::vector<TokenLogProbability> top;
  std::optional<TokenTrace> trace;
};

/// Whether choosing needs the logits, not only which is the greatest.
[[nodiscard]] bool needs_logits(const DecodeJob& job);

/// How a row came to be that a token is chosen from.
struct RowOrigin {
  std::span<const float> raw = {};  ///< as the network gave it, before a constraint; empty: it is the row itself
  std::uint32_t draw = 0;           ///< number of the draw at this place
};

/// Chooses the token of the cell at `position` from a row of logits. Errors: those of Chain::select.
[[nodiscard]] Result<Choice> choose(DecodeJob& job, std::span<const float> logits, std::size_t position,
                                    const RowOrigin& origin = {});

struct GivenScore {
  double log_probability = 0;
  std::vector<TokenLogProbability> top;
};
/// What `job` asks about `token`, given at `position` of a prompt, by the row of logits before it.
[[nodiscard]] Result<GivenScore> score_given(const DecodeJob& job, std::span<const float> logits, std::size_t position,
                                             TokenId token);

}  // namespace plm
