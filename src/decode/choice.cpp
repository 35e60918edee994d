#include "decode/choice.h"

#include <limits>

#include "base/portable_math.h"

namespace plm {
namespace {

// As large as the vocabulary and of no use between two choices: one a thread serves all sequences.
Candidates& thread_workspace() {
  static thread_local Candidates workspace;
  return workspace;
}

DrawPlace place_of(const DecodeJob& job, std::size_t position, std::uint32_t draw) {
  return {.seed = job.seed, .cell = static_cast<std::uint32_t>(position), .draw = draw};
}

// Of what a chain left.
GivenScore score_left(Candidates& left, TokenId token, std::size_t top) {
  const double log_total = static_cast<double>(left.highest()) + log_f64(left.weigh().total);
  const auto index = left.index_of(token);
  GivenScore score{.log_probability = index.has_value() ? static_cast<double>(left.logits()[*index]) - log_total
                                                        : -std::numeric_limits<double>::infinity()};
  if (top == 0) return score;
  for (const Candidate& candidate : left.top(std::min(top, left.support()))) {
    score.top.push_back({candidate.id, static_cast<double>(candidate.logit) - log_total});
  }
  return score;
}

Result<GivenScore> score_raw(std::span<const float> logits, TokenId token, std::size_t top) {
  PLM_TRY_ASSIGN(const LogProbabilities model, LogProbabilities::of(logits));
  return GivenScore{model.of_token(token), model.top(top)};
}

}  // namespace

bool needs_logits(const DecodeJob& job) {
  return !job.chain.is_greedy() || job.log_probabilities.has_value() || job.trace_top.has_value() ||
         job.bans.has_value() || job.constraint.matcher != nullptr || job.is_guided;
}

Result<Choice> choose(DecodeJob& job, std::span<const float> logits, std::size_t position, const RowOrigin& origin) {
  Candidates& workspace = thread_workspace();
  static thread_local Tracer tracer;  // for the same reason
  const bool is_traced = job.trace_top.has_value();
  if (is_traced) tracer.note_top(*job.trace_top);
  PLM_TRY_ASSIGN(const Selection selection, job.chain.select(logits, place_of(job, position, origin.draw), workspace,
                                                             is_traced ? &tracer : nullptr));
  Choice choice{.selection = selection};
  if (is_traced) choice.trace = tracer.finish(selection);
  if (!job.log_probabilities.has_value()) return choice;
  const auto& [of, top, prompt] = *job.log_probabilities;
  GivenScore score;
  if (of == LogProbabilityWish::Of::chain) {
    score = score_left(workspace, selection.id, top);
  } else {
    const bool is_raw = of == LogProbabilityWish::Of::model && !origin.raw.empty();
    PLM_TRY_ASSIGN(score, score_raw(is_raw ? origin.raw : logits, selection.id, top));
  }
  choice.log_probability = score.log_probability;
  choice.top = std::move(score.top);
  return choice;
}

Result<GivenScore> score_given(const DecodeJob& job, std::span<const float> logits, std::size_t position,
                               TokenId token) {
  const LogProbabilityWish& wish = *job.log_probabilities;
  if (wish.of != LogProbabilityWish::Of::chain) return score_raw(logits, token, wish.top);
  Chain chain = job.chain;
  const std::vector<TokenId> tokens = job.canvas.tokens();
  chain.begin(std::span(tokens).first(position));
  Candidates& workspace = thread_workspace();
  PLM_TRY(chain.select(logits, place_of(job, position, 0), workspace));
  return score_left(workspace, token, wish.top);
}

}  // namespace plm
