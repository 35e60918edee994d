#include "sampling/log_probabilities.h"

#include <algorithm>
#include <array>

#include "base/portable_math.h"
#include "sampling/candidates.h"
#include "sampling/row_weights.h"

namespace plm {

Result<LogProbabilities> LogProbabilities::of(std::span<const float> logits) {
  PLM_TRY_ASSIGN(const float highest, highest_logit(logits));
  std::array<float, 1024> weights;
  double sum = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += weights.size()) {
    const auto part = logits.subspan(begin, std::min(weights.size(), logits.size() - begin));
    sum += row_weights(part, highest, weights.data());
  }
  return LogProbabilities(logits, static_cast<double>(highest) + log_f64(sum));
}

double LogProbabilities::of_token(std::int32_t id) const {
  PLM_CHECK(id >= 0 && static_cast<std::size_t>(id) < logits_.size());
  return static_cast<double>(logits_[static_cast<std::size_t>(id)]) - log_sum_;
}

double LogProbabilities::divergence_from(const LogProbabilities& other) const {
  PLM_CHECK(logits_.size() == other.logits_.size());
  double sum = 0;
  for (std::size_t id = 0; id < logits_.size(); ++id) {
    const double mine = static_cast<double>(logits_[id]) - log_sum_;
    const double probability = exp_f64(mine);
    if (probability > 0) sum += probability * (mine - (static_cast<double>(other.logits_[id]) - other.log_sum_));
  }
  return sum;
}

std::vector<TokenLogProbability> LogProbabilities::top(std::size_t count) const {
  std::vector<TokenLogProbability> tokens;
  if (count == 0) return tokens;
  for (const Candidate& candidate : top_candidates(logits_, count)) {
    tokens.push_back({candidate.id, of_token(candidate.id)});
  }
  return tokens;
}

}  // namespace plm
