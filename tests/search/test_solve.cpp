#include "search/solve.h"

#include <gtest/gtest.h>

#include "engine/engine_runs.h"

namespace plm {
namespace {

const std::vector<Parameter>& parameters() {
  static const std::vector<Parameter> all = [] {
    const auto search = search_parameters();
    std::vector<Parameter> list(search.begin(), search.end());
    const auto sampling = sampling_parameters();
    list.insert(list.end(), sampling.begin(), sampling.end());
    return list;
  }();
  return all;
}

struct Asked {
  std::string method = "vote";
  std::string verifier = {};
  std::size_t candidates = 8, together = 4;
  std::optional<AnswerForm> answers = {};
  SearchBudget budget = {};
  double temperature = 1.5;
};

struct Told {
  SearchOutcome outcome;
  std::vector<std::pair<CandidateEvent, std::size_t>> events;
};

Result<Told> ask(const Asked& asked) {
  const auto engine = load_engine(PLM_MODELS "/twin-ar.gguf", {.most_sequences = asked.together + 1});
  Settings settings(parameters());
  EXPECT_TRUE(settings.set_text("samplers", "temperature"));
  EXPECT_TRUE(settings.set_text("temperature", fmt::format("{}", asked.temperature)));
  const auto method = find_search_method(asked.method).value()->create(settings).value();
  std::unique_ptr<Verifier> verifier;
  if (!asked.verifier.empty()) verifier = create_verifier(asked.verifier).value();
  GenerationRequest request{.max_tokens = 8, .sampling = &settings, .seed = 11};
  request.prompt = engine->tokenizer().encode("A385+739=", {.add_special = true}).value();
  const SearchPlan plan{.method = method.get(),
                        .verifier = verifier.get(),
                        .answers = asked.answers,
                        .candidates = asked.candidates,
                        .budget = asked.budget};
  Told told;
  const SearchHooks hooks{.on_candidate = [&](CandidateEvent event, const SearchCandidate& candidate) {
    told.events.emplace_back(event, candidate.index);
  }};
  PLM_TRY_ASSIGN(told.outcome, solve(*engine, request, plan, hooks));
  return told;
}

TEST(Solve, CandidatesAreTheSameWhateverTheirNumber) {
  const auto many =
      ask({.method = "weighted", .verifier = "numeric:1124", .together = 8, .temperature = 6}).value().outcome;
  ASSERT_EQ(many.candidates.size(), 8U);
  bool differ = false;
  for (const SearchCandidate& each : many.candidates) differ = differ || each.text != many.candidates[0].text;
  EXPECT_TRUE(differ) << "at this temperature";
  for (const std::size_t together : {1U, 3U}) {
    for (const std::size_t count : {1U, 5U}) {
      const auto few = ask({.method = "weighted",
                            .verifier = "numeric:1124",
                            .candidates = count,
                            .together = together,
                            .temperature = 6})
                           .value()
                           .outcome;
      ASSERT_EQ(few.candidates.size(), count);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(few.candidates[i].text, many.candidates[i].text);
    }
  }
}

TEST(Solve, AnExactVerifierFindsTheRightOneAndEndsTheSearch) {
  const auto [outcome, events] = ask({.method = "best_of_n", .verifier = "numeric:1124", .candidates = 32}).value();
  ASSERT_TRUE(outcome.decision.chosen.has_value());
  const SearchCandidate& chosen = outcome.candidates[*outcome.decision.chosen];
  EXPECT_EQ(chosen.text, "1124");
  EXPECT_TRUE(chosen.verdict->accepted.value());
  EXPECT_LT(outcome.candidates.size(), 32U);
  EXPECT_EQ(events.back(), std::pair(CandidateEvent::selected, chosen.index));
  std::size_t generated = 0;
  for (const SearchCandidate& each : outcome.candidates) generated += each.tokens;
  EXPECT_EQ(outcome.cost.generated_tokens, generated);
  EXPECT_FALSE(outcome.budget_ended);
}

// The decision is that of the first candidates that settle it, though more may have been begun beside them.
TEST(Solve, DecisionsDoNotDependOnHowManyAreWrittenAtOnce) {
  for (const char* method : {"vote", "asc", "esc", "best_of_n", "weighted", "deepconf"}) {
    const Asked asked{.method = method, .verifier = "numeric:1124", .candidates = 16, .together = 1, .temperature = 1};
    const auto alone = ask(asked).value().outcome;
    Asked wide = asked;
    wide.together = 16;
    const auto together = ask(wide).value().outcome;
    EXPECT_EQ(alone.decision.chosen, together.decision.chosen) << method;
    EXPECT_EQ(alone.decision.reason, together.decision.reason) << method;
    EXPECT_GE(together.candidates.size(), alone.candidates.size()) << method;
    EXPECT_EQ(alone.votes.size(), together.votes.size()) << method;
  }
}

TEST(Solve, ABudgetEndsTheSearchAndKeepsWhatThereIs) {
  const auto outcome = ask({.candidates = 64, .together = 4, .budget = {.tokens = 30}}).value().outcome;
  EXPECT_TRUE(outcome.budget_ended);
  EXPECT_LT(outcome.candidates.size(), 64U);
  EXPECT_GE(outcome.cost.generated_tokens, 30U);
  EXPECT_LE(outcome.cost.generated_tokens, 30U + 4U);
  EXPECT_TRUE(outcome.decision.chosen.has_value());
  const auto by_passes = ask({.candidates = 64, .budget = {.passes = 10}}).value().outcome;
  EXPECT_TRUE(by_passes.budget_ended);
  EXPECT_TRUE(ask({.candidates = 64, .budget = {.ms = 0}}).value().outcome.candidates.empty());
}

TEST(Solve, CertaintyNeedsNoOtherModel) {
  const auto outcome = ask({.method = "best_of_n", .verifier = "self_certainty", .temperature = 1}).value().outcome;
  for (const SearchCandidate& each : outcome.candidates) {
    EXPECT_EQ(each.confidences.size(), each.tokens);
    EXPECT_GT(each.verdict->score, 0);
  }
}

TEST(Solve, NoCandidatesAreRefused) { EXPECT_EQ(ask({.candidates = 0}).error().kind, ErrorKind::usage); }

}  // namespace
}  // namespace plm
