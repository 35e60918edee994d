#include "decode/revision.h"

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"

namespace plm {
namespace {

constexpr std::size_t kWinoLeastCap = 5, kWinoMostCap = 20;

// Places of the `count` smallest numbers, ties by place.
std::vector<std::size_t> smallest(std::span<const double> numbers, std::size_t count) {
  std::vector<std::size_t> places(numbers.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::ranges::sort(
      places, [&](std::size_t a, std::size_t b) { return numbers[a] != numbers[b] ? numbers[a] < numbers[b] : a < b; });
  places.resize(std::min(count, places.size()));
  std::ranges::sort(places);
  return places;
}

}  // namespace

Revision wino_step(const WinoRule& rule, std::span<const OpenPosition> open, std::span<const double> verify,
                   std::size_t last_accepted) {
  // Seven tenths of the open positions, in whole numbers.
  const std::size_t cap = std::min(std::max(7 * open.size() / 10, kWinoLeastCap), kWinoMostCap);
  Revision revision{.commit = above(open, rule.accept), .revise = {}};
  if (revision.commit.empty()) revision.commit = best_of(open, 1);
  if (revision.commit.size() > cap) revision.commit = best_of(open, cap);
  if (revision.commit.size() <= 1) return revision;
  for (std::size_t i = 0; i < verify.size(); ++i) {
    if (verify[i] < rule.keep) revision.revise.push_back(i);
  }
  if (revision.revise.size() >= last_accepted) {
    revision.revise = smallest(verify, last_accepted > 0 ? last_accepted - 1 : 0);
  }
  return revision;
}

double remask_base(const RemaskRule& rule, const RemaskTimes& times) {
  const double most = times.alpha_t > 0 ? std::min(1.0, (1 - times.alpha_s) / times.alpha_t) : 1.0;
  switch (rule.kind) {
    case RemaskKind::none: return 0;
    case RemaskKind::max: return most;
    case RemaskKind::cap: return std::min(rule.eta, most);
    case RemaskKind::rescale: return rule.eta * most;
  }
  return 0;
}

std::vector<double> remask_probabilities(const RemaskRule& rule, const RemaskTimes& times,
                                         std::span<const double> confidences) {
  const double base = remask_base(rule, times);
  std::vector<double> probabilities(confidences.size(), base);
  if (!rule.by_confidence || confidences.empty()) return probabilities;
  const double least = *std::ranges::min_element(confidences);
  double sum = 0;
  for (std::size_t i = 0; i < confidences.size(); ++i) sum += probabilities[i] = exp_f64(least - confidences[i]);
  for (double& probability : probabilities) probability *= base / sum;
  return probabilities;
}

double stay_probability(const RemaskRule& rule, const RemaskTimes& times) {
  if (times.alpha_t >= 1) return 0;
  return (1 - times.alpha_s - remask_base(rule, times) * times.alpha_t) / (1 - times.alpha_t);
}

Revision remask_step(std::span<const OpenPosition> open, double stay, std::span<const double> remask,
                     std::span<const double> uniforms) {
  Revision revision;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i].uniform >= stay) revision.commit.push_back(i);
  }
  for (std::size_t i = 0; i < remask.size(); ++i) {
    if (uniforms[i] < remask[i]) revision.revise.push_back(i);
  }
  return revision;
}

Revision edit_step(const EditRule& rule, std::span<const OpenPosition> open,
                   std::span<const CommittedPosition> committed) {
  Revision revision{.commit = above(open, rule.fill), .revise = {}};
  if (revision.commit.size() < std::min(rule.least, open.size())) revision.commit = best_of(open, rule.least);
  for (std::size_t i = 0; i < committed.size(); ++i) {
    const CommittedPosition& at = committed[i];
    if (at.proposed != at.token && at.score > rule.edit) revision.revise.push_back(i);
  }
  return revision;
}

}  // namespace plm
