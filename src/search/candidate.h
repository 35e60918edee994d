// One of several texts written for the same prompt, and what is known of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decode/event.h"

namespace plm {

/// What a verifier says of a text.
struct Verdict {
  double score = 0;              ///< higher is better
  std::optional<bool> accepted;  ///< nothing: it only scores
  std::string note;              ///< why, for a person; empty: nothing to add
};

struct SearchCandidate {
  std::size_t index = 0;  ///< its seed is the request's and this
  std::string text;
  std::optional<std::string> answer;  ///< nothing: the text holds none
  std::optional<Verdict> verdict;     ///< nothing: no verifier, or it was cut off
  std::size_t tokens = 0, passes = 0;
  FinishReason finish = FinishReason::none;  ///< none: it was cut off
  /// Of each token of the text, if the verifier asked: ln p of the token itself, and the mean of -ln p over the
  /// likeliest, by the model's own distribution.
  std::vector<double> log_probabilities, confidences;

  [[nodiscard]] bool is_whole() const { return finish != FinishReason::none; }
};

}  // namespace plm
