// Draws candidates for one prompt, judges them and takes one: best-of-N, votes and their early ends.
//
// The prompt is computed once; candidates are written as one batch, as many at a time as the engine takes, and those
// that are no longer needed are dropped at once. Candidate i is the same text for any number of candidates and any
// number at a time, and so is the decision, unless a budget ends the search. Whatever was written when it ends is kept
// and marked. Datasheet 38 to 42. Tested by tests/search/test_solve.cpp.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "search/method.h"
#include "search/verifier.h"

namespace plm {

/// Whichever is used up first ends the search; nothing: no bound.
struct SearchBudget {
  std::optional<std::size_t> tokens, passes;
  std::optional<double> ms;
};

struct SearchPlan {
  const SearchMethod* method = nullptr;
  const Verifier* verifier = nullptr;  ///< null: none
  std::optional<AnswerForm> answers;   ///< nothing: as the verifier says, else the whole text
  std::size_t candidates = 1;
  SearchBudget budget = {};
};

enum class CandidateEvent : std::uint8_t { started, finished, pruned, selected };
[[nodiscard]] std::string_view candidate_event_name(CandidateEvent event);

struct SearchHooks {
  std::function<bool()> interrupted = {};
  std::function<void(CandidateEvent event, const SearchCandidate& candidate)> on_candidate = {};
};

/// What a search took.
struct SearchCost {
  std::size_t prompt_tokens = 0;     ///< computed once
  std::size_t generated_tokens = 0;  ///< of all candidates
  std::size_t wasted_tokens = 0;     ///< of those that were pruned
  std::size_t passes = 0;            ///< of all candidates, each as if it were alone
  double ms = 0;
};

struct SearchOutcome {
  std::vector<SearchCandidate> candidates;  ///< those started, by index
  Decision decision;
  std::vector<VoteCount> votes;  ///< of the answers; empty: none were read
  SearchCost cost;
  bool budget_ended = false;
};

/// `request` is of one text: its seed is candidate 0's. Errors: the request's, a plan of no candidates (usage),
/// interrupted.
[[nodiscard]] Result<SearchOutcome> solve(Engine& engine, const GenerationRequest& request, const SearchPlan& plan,
                                          const SearchHooks& hooks = {});

}  // namespace plm
