#include "search/solve.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"

namespace plm {
namespace {

// The candidates of one search, in the order of their indices.
class Search {
 public:
  Search(Engine& engine, const GenerationRequest& request, const SearchPlan& plan, const SearchHooks& hooks)
      : engine_(engine), request_(request), plan_(plan), hooks_(hooks) {}

  Result<SearchOutcome> run() {
    request_.reuse_prefix = true;
    if (plan_.verifier != nullptr && plan_.verifier->confidence_tokens() > 0) {
      request_.log_probabilities = LogProbabilityWish{.top = plan_.verifier->confidence_tokens()};
    }
    candidates_.reserve(plan_.candidates);  // listeners refer to them
    while (candidates_.size() < plan_.candidates && !is_over()) PLM_TRY(write_some());
    return outcome();
  }

 private:
  Result<void> write_some() {
    const std::size_t first = candidates_.size();
    // What they have in common is a sequence of its own while they fork from it.
    const std::size_t together = std::max<std::size_t>(engine_.most_sequences() - 1, 1);
    const std::size_t count = std::min(plan_.candidates - first, together);
    for (std::size_t i = first; i < first + count; ++i) tell(CandidateEvent::started, add_candidate(i));
    GenerationRequest request = request_;
    request.seed += first;
    const auto listener = [&](std::size_t i) -> Listener {
      return [this, &candidate = candidates_[first + i]](const Event& event) { hear(candidate, event); };
    };
    PLM_TRY_ASSIGN(auto generations, engine_.start_many(request, count, listener, hooks_.interrupted));
    bool was_interrupted = false;
    PLM_TRY(engine_.run([&] {
      judge_finished();
      was_interrupted = hooks_.interrupted && hooks_.interrupted();
      return was_interrupted || failure_.has_value() || is_over();
    }));
    judge_finished();
    if (failure_.has_value()) return tl::unexpected<Error>(std::move(*failure_));
    if (was_interrupted) return fail(ErrorKind::interrupted, "search: interrupted");
    for (std::size_t i = 0; i < count; ++i) {
      if (generations[i]->done()) {
        PLM_TRY(generations[i]->take());
      } else {
        tell(CandidateEvent::pruned, candidates_[first + i]);
      }
    }
    return {};
  }

  SearchCandidate& add_candidate(std::size_t index) {
    SearchCandidate& candidate = candidates_.emplace_back();
    candidate.index = index;
    return candidate;
  }

  void tell(CandidateEvent event, const SearchCandidate& candidate) const {
    if (hooks_.on_candidate) hooks_.on_candidate(event, candidate);
  }

  void hear(SearchCandidate& candidate, const Event& event) {
    switch (event.kind) {
      case EventKind::pass_ran: ++candidate.passes; break;
      case EventKind::stable_prefix: candidate.text += event.text; break;
      case EventKind::committed: note_token(candidate, event); break;
      case EventKind::finished: candidate.finish = event.reason; break;
      default: break;
    }
  }

  void note_token(SearchCandidate& candidate, const Event& event) const {
    ++candidate.tokens;
    if (!request_.log_probabilities.has_value()) return;
    candidate.log_probabilities.push_back(event.log_probability);
    double sum = 0;
    for (const TokenLogProbability& each : event.top) sum -= each.log_probability;
    candidate.confidences.push_back(event.top.empty() ? 0 : sum / static_cast<double>(event.top.size()));
  }

  // In the order of their indices, so that the method sees an unbroken row of whole candidates.
  void judge_finished() {
    for (; judged_ < candidates_.size() && candidates_[judged_].is_whole() && !failure_.has_value(); ++judged_) {
      SearchCandidate& candidate = candidates_[judged_];
      const auto form = plan_.answers.has_value()   ? plan_.answers
                        : plan_.verifier != nullptr ? plan_.verifier->answer_form()
                                                    : std::nullopt;
      candidate.answer = answer_of(candidate.text, form.value_or(AnswerForm::text));
      if (plan_.verifier != nullptr) {
        Result<Verdict> verdict = plan_.verifier->judge(candidate);
        if (!verdict.has_value()) {
          failure_ = std::move(verdict.error());
          return;
        }
        candidate.verdict = std::move(*verdict);
      }
      tell(CandidateEvent::finished, candidate);
    }
    const auto highest = plan_.verifier != nullptr ? plan_.verifier->highest_score() : std::nullopt;
    enough_ = plan_.method->enough(std::span(candidates_).first(judged_), plan_.candidates, highest);
  }

  [[nodiscard]] bool is_over() {
    const auto sum = [&](auto member) {
      return std::accumulate(candidates_.begin(), candidates_.end(), std::size_t{0},
                             [&](std::size_t so_far, const auto& each) { return so_far + each.*member; });
    };
    const SearchBudget& budget = plan_.budget;
    budget_ended_ = budget_ended_ || (budget.tokens.has_value() && sum(&SearchCandidate::tokens) >= *budget.tokens) ||
                    (budget.passes.has_value() && sum(&SearchCandidate::passes) >= *budget.passes) ||
                    (budget.ms.has_value() && watch_.elapsed_ms() >= *budget.ms);
    return enough_.has_value() || budget_ended_;
  }

  SearchOutcome outcome() {
    SearchOutcome outcome{.budget_ended = budget_ended_ && !enough_.has_value()};
    const std::size_t counted = enough_.value_or(candidates_.size());
    const auto drawn = std::span<const SearchCandidate>(candidates_).first(counted);
    outcome.decision = plan_.method->decide(drawn);
    outcome.votes = count_votes(ballots_of(drawn));
    outcome.cost = {.prompt_tokens = request_.prompt.size(), .ms = watch_.elapsed_ms()};
    for (const SearchCandidate& each : candidates_) {
      outcome.cost.generated_tokens += each.tokens;
      outcome.cost.passes += each.passes;
      if (each.index >= counted || !each.is_whole()) outcome.cost.wasted_tokens += each.tokens;
    }
    if (outcome.decision.chosen.has_value()) {
      tell(CandidateEvent::selected, candidates_[*outcome.decision.chosen]);
    }
    outcome.candidates = std::move(candidates_);
    return outcome;
  }

  Engine& engine_;
  GenerationRequest request_;
  const SearchPlan& plan_;
  const SearchHooks& hooks_;
  Stopwatch watch_;
  std::vector<SearchCandidate> candidates_;
  std::size_t judged_ = 0;             // candidates, from the first on
  std::optional<std::size_t> enough_;  // candidates that settle it
  std::optional<Error> failure_;       // of a verifier
  bool budget_ended_ = false;
};

}  // namespace

std::string_view candidate_event_name(CandidateEvent event) {
  constexpr std::string_view kNames[] = {"started", "finished", "pruned", "selected"};
  return kNames[static_cast<std::size_t>(event)];
}

Result<SearchOutcome> solve(Engine& engine, const GenerationRequest& request, const SearchPlan& plan,
                            const SearchHooks& hooks) {
  PLM_CHECK(plan.method != nullptr);
  if (plan.candidates == 0) return fail(ErrorKind::usage, "search: 0 candidates; at least one must be drawn");
  return Search(engine, request, plan, hooks).run();
}

}  // namespace plm
