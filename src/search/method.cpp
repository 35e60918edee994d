#include "search/method.h"

#include <algorithm>

#include "base/utf8.h"

namespace plm {

Result<const SearchMethodDefinition*> find_search_method(std::string_view name) {
  const auto all = search_methods();
  const auto found = std::ranges::find(all, name, [](const auto* each) { return each->head.name; });
  if (found != all.end()) return *found;
  std::string names;
  for (const auto* each : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", each->head.name);
  return fail(ErrorKind::usage, "search method '{}': there is none of that name; known are {}", printable(name, 40),
              names);
}

std::span<const Parameter> search_parameters() {
  static const std::vector<Parameter> all = [] {
    std::vector<Parameter> list;
    for (const auto* method : search_methods()) {
      for (const Parameter& parameter : method->head.parameters) {
        if (std::ranges::find(list, parameter.name, &Parameter::name) == list.end()) list.push_back(parameter);
      }
    }
    return list;
  }();
  return all;
}

std::vector<Ballot> ballots_of(std::span<const SearchCandidate> candidates, bool by_score) {
  std::vector<Ballot> ballots;
  for (const SearchCandidate& each : candidates) {
    Ballot& ballot = ballots.emplace_back();
    if (each.is_whole()) ballot.answer = each.answer;
    if (by_score) ballot.weight = each.verdict.has_value() ? std::optional(each.verdict->score) : std::nullopt;
  }
  return ballots;
}

Decision decide_by_votes(std::span<const SearchCandidate> candidates, bool by_score) {
  const std::vector<Ballot> ballots = ballots_of(candidates, by_score);
  const std::vector<VoteCount> counts = count_votes(ballots);
  if (counts.empty()) return {.chosen = std::nullopt, .reason = "no candidate holds an answer"};
  const VoteCount& winner = counts.front();
  const std::string share = by_score ? fmt::format("weight {:.3g}", winner.weight) : fmt::format("{}", winner.count);
  return {.chosen = candidates[winner.first].index,
          .reason =
              fmt::format("'{}' has {} of {} votes{}", printable(winner.answer, 60), share, ballots.size(),
                          counts.size() > 1 ? fmt::format(", then '{}' {}", printable(counts[1].answer, 60),
                                                          by_score ? fmt::format("with weight {:.3g}", counts[1].weight)
                                                                   : fmt::format("with {}", counts[1].count))
                                            : "")};
}

}  // namespace plm
