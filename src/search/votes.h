// Choosing among candidates by their scores and their answers, and knowing when to stop drawing more.
//
// Ties go to the candidate, or the answer, that came first. A candidate without a score or without an answer has no
// voice. Equations: best-of-N and its weighted form (Wang et al., arXiv 2203.11171; Li et al., 2206.02336), adaptive
// consistency (2305.11860), early-stopping self-consistency (Li et al., ICLR 2024); datasheet 38 to 41.
// Tested by tests/search/test_votes.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plm {

/// How the scores of a candidate's steps become one.
enum class StepAggregate : unsigned char { last, min, product, mean, max };

/// Nothing for no steps.
[[nodiscard]] std::optional<double> aggregate_steps(std::span<const double> scores, StepAggregate how);

/// The index of the first highest score; nothing when there is none.
[[nodiscard]] std::optional<std::size_t> best_score(std::span<const std::optional<double>> scores);

/// One candidate's voice.
struct Ballot {
  std::optional<std::string> answer;
  std::optional<double> weight = 1.0;
};

struct VoteCount {
  std::string answer;
  double weight = 0;      ///< sum over its ballots
  std::size_t count = 0;  ///< of ballots
  std::size_t first = 0;  ///< index of its first ballot
};

/// Answers by weight, highest first, equal ones in the order of their first ballots (equal up to 1e-12).
[[nodiscard]] std::vector<VoteCount> count_votes(std::span<const Ballot> ballots);

/// The probability that the leading answer's true share is greater than the second's, given their counts and a uniform
/// prior: 1 - I_1/2(leading + 1, second + 1).
[[nodiscard]] double lead_probability(std::size_t leading, std::size_t second);

/// Ballots after which the leader's probability to lead is at least `threshold`; nothing: never.
[[nodiscard]] std::optional<std::size_t> decided_by_lead(std::span<const Ballot> ballots, double threshold);

/// Ballots after the first whole window of `window` in which all agree; nothing: there is none.
[[nodiscard]] std::optional<std::size_t> decided_by_window(std::span<const Ballot> ballots, std::size_t window);

/// Ballots after which no further ones, up to `all`, can change who wins; nothing: they still can. Every ballot weighs
/// one.
[[nodiscard]] std::optional<std::size_t> decided_by_margin(std::span<const Ballot> ballots, std::size_t all);

}  // namespace plm
