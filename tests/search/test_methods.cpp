#include <gtest/gtest.h>

#include "search/method.h"

namespace plm {
namespace {

std::unique_ptr<SearchMethod> method_of(std::string_view name) {
  const Settings settings(search_parameters());
  return find_search_method(name).value()->create(settings).value();
}

// Whole candidates with an answer and a score each.
std::vector<SearchCandidate> drawn(const std::vector<std::pair<const char*, double>>& each) {
  std::vector<SearchCandidate> candidates;
  for (const auto& [answer, score] : each) {
    SearchCandidate& candidate = candidates.emplace_back();
    candidate.index = candidates.size() - 1;
    candidate.text = answer;
    if (*answer != 0) candidate.answer = answer;
    candidate.verdict = Verdict{.score = score};
    candidate.finish = FinishReason::end_of_text;
  }
  return candidates;
}

TEST(Methods, BestOfNTakesTheFirstHighestScore) {
  const auto method = method_of("best_of_n");
  const auto candidates = drawn({{"a", 0.2}, {"b", 0.9}, {"c", 0.9}});
  EXPECT_EQ(method->decide(candidates).chosen, 1U);
  EXPECT_EQ(method->enough(candidates, 3, std::nullopt), std::nullopt);
  EXPECT_EQ(method->enough(candidates, 3, 0.9), 2U);
  EXPECT_EQ(method->enough(candidates, 3, 1.0), std::nullopt);
  auto unscored = candidates;
  for (auto& each : unscored) each.verdict.reset();
  EXPECT_EQ(method->decide(unscored).chosen, std::nullopt);
}

TEST(Methods, VotesCountAnswersAndWeightsScores) {
  const auto candidates = drawn({{"7", 0.9}, {"8", 0.3}, {"", 0.5}, {"8", 0.4}});
  EXPECT_EQ(method_of("vote")->decide(candidates).chosen, 1U);
  EXPECT_EQ(method_of("weighted")->decide(candidates).chosen, 0U);
  EXPECT_EQ(method_of("vote")->decide(drawn({{"", 1}})).chosen, std::nullopt);
  EXPECT_EQ(method_of("vote")->enough(drawn({{"8", 0}, {"8", 0}}), 3, std::nullopt), 2U);
}

TEST(Methods, EarlyEndsAreThoseOfTheirRules) {
  const auto same = drawn({{"a", 0}, {"a", 0}, {"a", 0}, {"a", 0}, {"a", 0}});
  EXPECT_EQ(method_of("asc")->enough(same, 40, std::nullopt), 4U);
  EXPECT_EQ(method_of("esc")->enough(same, 40, std::nullopt), 5U);
}

TEST(Methods, DeepConfHearsTheConfidentOnly) {
  const auto candidates = drawn({{"a", 1}, {"b", 9}, {"a", 2}, {"a", 1}});
  EXPECT_EQ(method_of("vote")->decide(candidates).chosen, 0U);
  EXPECT_EQ(method_of("deepconf")->decide(candidates).chosen, 1U);
}

// Every registered one: a candidate cut off is not taken by a vote, what settles it settles it for more as well, and
// nothing at all is a decision, not a fault.
TEST(Methods, KeepTheirContract) {
  for (const auto* definition : search_methods()) {
    const auto method = method_of(definition->head.name);
    EXPECT_EQ(method->decide({}).chosen, std::nullopt) << definition->head.name;
    EXPECT_EQ(method->enough({}, 8, 1.0), std::nullopt) << definition->head.name;
    const auto all =
        drawn({{"a", 1}, {"a", 1}, {"b", 0}, {"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}});
    const auto enough = method->enough(all, 10, 1.0);
    if (!enough.has_value()) continue;
    for (std::size_t count = 0; count < *enough; ++count) {
      EXPECT_EQ(method->enough(std::span(all).first(count), 10, 1.0), std::nullopt) << definition->head.name;
    }
    const auto decision = method->decide(std::span(all).first(*enough));
    EXPECT_EQ(decision.chosen, 0U) << definition->head.name;
    EXPECT_FALSE(decision.reason.empty());
  }
  EXPECT_EQ(find_search_method("none").error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace plm
