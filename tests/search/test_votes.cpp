#include "search/votes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/conformance.h"

namespace plm {
namespace {

std::vector<Ballot> ballots_of(const Json& answers, const Json* weights = nullptr) {
  std::vector<Ballot> ballots;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Ballot& ballot = ballots.emplace_back();
    if (answers[i].is_string()) ballot.answer = answers[i].get<std::string>();
    if (weights != nullptr) {
      ballot.weight = (*weights)[i].is_null() ? std::nullopt : std::optional((*weights)[i].get<double>());
    }
  }
  return ballots;
}

TEST(Votes, StepsAggregateAsTheReferenceSays) {
  const std::map<std::string, StepAggregate> ways = {{"last", StepAggregate::last},
                                                     {"min", StepAggregate::min},
                                                     {"prod", StepAggregate::product},
                                                     {"mean", StepAggregate::mean},
                                                     {"max", StepAggregate::max}};
  for_each_case("prm_aggregate", [&](const Json& input, const Json& expected) {
    const auto scores = input["scores"].get<std::vector<double>>();
    const auto found = aggregate_steps(scores, ways.at(input["how"].get<std::string>()));
    ASSERT_EQ(found.has_value(), !expected.is_null());
    if (found.has_value()) {
      EXPECT_NEAR(*found, expected.get<double>(), 1e-9);
    }
  });
}

TEST(Votes, TheFirstHighestScoreIsBest) {
  for_each_case("best_of_n", [](const Json& input, const Json& expected) {
    std::vector<std::optional<double>> scores;
    for (const Json& score : input["scores"]) {
      scores.push_back(score.is_null() ? std::nullopt : std::optional(score.get<double>()));
    }
    const auto best = best_score(scores);
    ASSERT_EQ(best.has_value(), !expected.is_null());
    if (best.has_value()) {
      EXPECT_EQ(*best, expected.get<std::size_t>());
    }
  });
  const std::vector<std::optional<double>> scores = {std::nan(""), std::nullopt, -1.0, -1.0};
  EXPECT_EQ(best_score(scores), 2U);
}

TEST(Votes, WeightsOfEqualAnswersAddUp) {
  for_each_case("weighted_best_of_n", [](const Json& input, const Json& expected) {
    const auto counts = count_votes(ballots_of(input["answers"], &input["scores"]));
    ASSERT_EQ(counts.empty(), expected.is_null());
    if (counts.empty()) return;
    EXPECT_EQ(counts[0].answer, expected[0].get<std::string>());
    EXPECT_NEAR(counts[0].weight, expected[1].get<double>(), 1e-9);
  });
}

TEST(Votes, CountsAreSortedAndNameTheFirstBallot) {
  const std::vector<Ballot> ballots = {{"c"}, {std::nullopt}, {"a"}, {"b"}, {"a"}, {"b"}};
  const auto counts = count_votes(ballots);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].answer, "a");
  EXPECT_EQ(counts[0].first, 2U);
  EXPECT_EQ(counts[0].count, 2U);
  EXPECT_EQ(counts[1].answer, "b");
  EXPECT_EQ(counts[2].answer, "c");
}

TEST(Votes, TheLeadersProbabilityIsThatOfTheReference) {
  for_each_case("asc_posterior", [](const Json& input, const Json& expected) {
    EXPECT_NEAR(lead_probability(input["v1"].get<std::size_t>(), input["v2"].get<std::size_t>()),
                expected.get<double>(), 1e-9);
  });
  EXPECT_NEAR(lead_probability(4000, 4000), 0.5, 1e-9);
  EXPECT_EQ(lead_probability(4000, 10), 1);
}

TEST(Votes, DrawingEndsWhereTheReferenceEndsIt) {
  for_each_case("asc_stop", [](const Json& input, const Json& expected) {
    auto ballots = ballots_of(input["answers"]);
    ballots.resize(std::min(ballots.size(), input["max_n"].get<std::size_t>()));
    const auto end = decided_by_lead(ballots, input["threshold"].get<double>());
    EXPECT_EQ(end.value_or(ballots.size()), expected.get<std::size_t>());
  });
  for_each_case("esc_stop", [](const Json& input, const Json& expected) {
    auto ballots = ballots_of(input["answers"]);
    ballots.resize(std::min(ballots.size(), input["max_n"].get<std::size_t>()));
    const auto end = decided_by_window(ballots, input["window"].get<std::size_t>());
    EXPECT_EQ(end.value_or(ballots.size()), expected.get<std::size_t>());
  });
}

TEST(Votes, AMarginThatCannotBeMadeUpEndsTheVote) {
  const std::vector<Ballot> ballots = {{"a"}, {"b"}, {"a"}, {std::nullopt}, {"a"}, {"a"}};
  EXPECT_EQ(decided_by_margin(ballots, 7), 6U);  // 4 to 1, one to come; after five 3 to 1, two to come
  EXPECT_EQ(decided_by_margin(ballots, 6), 5U);
  EXPECT_EQ(decided_by_margin(ballots, 100), std::nullopt);
}

}  // namespace
}  // namespace plm
