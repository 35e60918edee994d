#include "search/votes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace plm {
namespace {

constexpr double kEqual = 1e-12;

// Calls decide(counts so far, ballots so far) after each ballot until it says yes.
template <typename Decide>
std::optional<std::size_t> first_decided(std::span<const Ballot> ballots, Decide decide) {
  for (std::size_t drawn = 1; drawn <= ballots.size(); ++drawn) {
    if (decide(ballots.first(drawn))) return drawn;
  }
  return std::nullopt;
}

// Ballots for the leader and for the one behind.
struct Lead {
  std::size_t leading = 0, second = 0;
};
Lead lead_of(std::span<const Ballot> ballots) {
  Lead lead;
  for (const VoteCount& each : count_votes(ballots)) {
    if (each.count > lead.leading) {
      lead = {each.count, lead.leading};
    } else {
      lead.second = std::max(lead.second, each.count);
    }
  }
  return lead;
}

}  // namespace

std::optional<double> aggregate_steps(std::span<const double> scores, StepAggregate how) {
  if (scores.empty()) return std::nullopt;
  const auto count = static_cast<double>(scores.size());
  switch (how) {
    case StepAggregate::last: return scores.back();
    case StepAggregate::min: return *std::ranges::min_element(scores);
    case StepAggregate::max: return *std::ranges::max_element(scores);
    case StepAggregate::product: return std::accumulate(scores.begin(), scores.end(), 1.0, std::multiplies<>());
    case StepAggregate::mean: return std::accumulate(scores.begin(), scores.end(), 0.0) / count;
  }
  return std::nullopt;
}

std::optional<std::size_t> best_score(std::span<const std::optional<double>> scores) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!scores[i].has_value() || std::isnan(*scores[i])) continue;
    if (!best.has_value() || *scores[i] > *scores[*best]) best = i;
  }
  return best;
}

std::vector<VoteCount> count_votes(std::span<const Ballot> ballots) {
  std::vector<VoteCount> counts;
  for (std::size_t i = 0; i < ballots.size(); ++i) {
    const auto& [answer, weight] = ballots[i];
    if (!answer.has_value() || !weight.has_value()) continue;
    auto found = std::ranges::find(counts, *answer, &VoteCount::answer);
    if (found == counts.end()) found = counts.insert(counts.end(), VoteCount{.answer = *answer, .first = i});
    found->weight += *weight;
    ++found->count;
  }
  // A sum of equal weights in another order may differ in its last bits. Selection, since "equal up to" is no order.
  for (auto place = counts.begin(); place != counts.end(); ++place) {
    const double most = std::ranges::max_element(place, counts.end(), {}, &VoteCount::weight)->weight;
    const auto next = std::find_if(place, counts.end(), [&](const auto& each) { return each.weight >= most - kEqual; });
    std::rotate(place, next, next + 1);
  }
  return counts;
}

double lead_probability(std::size_t leading, std::size_t second) {
  // 1 - I_1/2(a, b) is the chance of fewer than a heads in a + b - 1 throws of a coin.
  const auto throws = static_cast<double>(leading + second + 1);
  const double log_all = throws * std::log(2.0);
  double sum = 0;
  for (std::size_t heads = 0; heads <= leading; ++heads) {
    const auto j = static_cast<double>(heads);
    sum += std::exp(std::lgamma(throws + 1) - std::lgamma(j + 1) - std::lgamma(throws - j + 1) - log_all);
  }
  return std::min(sum, 1.0);
}

std::optional<std::size_t> decided_by_lead(std::span<const Ballot> ballots, double threshold) {
  return first_decided(ballots, [&](std::span<const Ballot> drawn) {
    const Lead lead = lead_of(drawn);
    return lead.leading > 0 && lead_probability(lead.leading, lead.second) >= threshold;
  });
}

std::optional<std::size_t> decided_by_window(std::span<const Ballot> ballots, std::size_t window) {
  for (std::size_t end = window; window > 0 && end <= ballots.size(); end += window) {
    const auto last = ballots.subspan(end - window, window);
    const auto& answer = last.front().answer;
    if (answer.has_value() && std::ranges::count(last, answer, &Ballot::answer) == std::ssize(last)) return end;
  }
  return std::nullopt;
}

std::optional<std::size_t> decided_by_margin(std::span<const Ballot> ballots, std::size_t all) {
  return first_decided(ballots, [&](std::span<const Ballot> drawn) {
    const Lead lead = lead_of(drawn);
    return lead.leading > lead.second + (all - std::min(all, drawn.size()));
  });
}

}  // namespace plm
