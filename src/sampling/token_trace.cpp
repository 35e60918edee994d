#include "sampling/token_trace.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/json.h"
#include "base/portable_math.h"
#include "sampling/row_scan.h"
#include "sampling/row_weights.h"

namespace plm {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

Json moment_json(const TraceMoment& moment) {
  return {{"support", moment.support},
          {"entropy", moment.entropy},
          {"rank", moment.rank},
          {"probability", moment.probability}};
}

// How many tokens of a whole vocabulary precede `chosen`.
std::size_t count_before(std::span<const float> row, const Candidate& chosen) {
  const auto id = static_cast<std::size_t>(chosen.id);
  const auto [above, equal] = row_place(row, chosen.logit);
  const std::size_t itself = row[id] == chosen.logit ? 1 : 0;
  return above + (equal > itself ? row_place(row.first(id), chosen.logit).equal : 0);
}

}  // namespace

void Tracer::begins(Candidates& candidates) {
  taken_ = 0;
  Snapshot& raw = next_snapshot();
  raw.row = row_of(candidates.logits(), candidates.highest());
  raw.support = raw.row.support;
  measure(raw, raw.row.center, raw.row.weights, raw.row.distances);
  likely_.clear();
  if (top_ == 0) return;
  for (const Candidate& candidate : candidates.top(std::min(top_, raw.support))) {
    likely_.push_back({candidate.id, candidate.logit, exp_f64(static_cast<double>(candidate.logit) - raw.log_total)});
  }
}

void Tracer::applied(std::string_view sampler, std::span<const double> state, Candidates& candidates) {
  Snapshot& snapshot = next_snapshot();
  const Snapshot& before = snapshots_[taken_ - 2];
  snapshot.is_whole = candidates.is_whole();
  if (!snapshot.is_whole) {
    take_rest(snapshot, candidates);
  } else if (!take_changes(snapshot, before.row, candidates)) {
    take_row(snapshot, candidates);
  }
  snapshot.removed_mass =  // not what rounding makes
      snapshot.support == before.support ? 0.0 : std::max(0.0, 1 - kept_mass(before, candidates));
  snapshot.sampler = sampler;
  snapshot.state.assign(state.begin(), state.end());
}

Tracer::Snapshot& Tracer::next_snapshot() {
  if (taken_ == snapshots_.size()) snapshots_.emplace_back();
  Snapshot& snapshot = snapshots_[taken_++];
  snapshot.is_whole = true;
  snapshot.listed.clear();
  return snapshot;
}

// From the sums over e^(logit - center): -sum p ln p with ln p = (logit - center) - ln of the weights' sum.
void Tracer::measure(Snapshot& snapshot, float center, double weights, double distances) {
  const double log_weights = log_f64(weights);
  snapshot.log_total = static_cast<double>(center) + log_weights;
  snapshot.entropy = std::max(0.0, log_weights + distances / weights);
}

Tracer::Row Tracer::row_of(std::span<const float> logits, float highest) {
  const RowMass mass = row_mass(logits, highest);
  return {.logits = logits,
          .center = highest,
          .support = logits.size() - row_place(logits, kMasked).equal,
          .weights = mass.weights,
          .distances = mass.distances};
}

void Tracer::take_rest(Snapshot& snapshot, Candidates& candidates) {
  const auto logits = candidates.logits();
  for (std::size_t i = 0; i < logits.size(); ++i) snapshot.listed.push_back({candidates.id(i), logits[i]});
  snapshot.support = candidates.support();
  const auto [weights, total] = candidates.weigh();
  measure(snapshot, candidates.highest(), total, row_distance_sum(logits, candidates.highest(), weights));
}

void Tracer::take_row(Snapshot& snapshot, const Candidates& candidates) {
  const auto logits = candidates.logits();  // which the next sampler may change
  snapshot.listed.clear();
  snapshot.own_logits.assign(logits.begin(), logits.end());
  snapshot.row = row_of(snapshot.own_logits, candidates.highest());
  snapshot.support = snapshot.row.support;
  measure(snapshot, snapshot.row.center, snapshot.row.weights, snapshot.row.distances);
}

// As `row` with a few tokens changed, if that is what the candidates are and the sums can be told from the row's.
bool Tracer::take_changes(Snapshot& snapshot, const Row& row, const Candidates& candidates) {
  constexpr std::size_t kStride = 256;
  const auto logits = candidates.logits();
  const std::size_t most = logits.size() / 64 + 8;
  snapshot.row = row;
  snapshot.support = row.support;
  double weights = row.weights, distances = row.distances;
  const auto count = [&](float logit, int sign) {
    if (logit == kMasked) return;
    const double weight = sign * static_cast<double>(exp_f32(logit - row.center));
    weights += weight;
    distances += weight * static_cast<double>(row.center - logit);
    snapshot.support += static_cast<std::size_t>(sign);
  };
  for (std::size_t begin = 0; begin < logits.size(); begin += kStride) {
    const std::size_t end = std::min(begin + kStride, logits.size());
    if (std::memcmp(&logits[begin], &row.logits[begin], (end - begin) * sizeof(float)) == 0) continue;
    for (std::size_t i = begin; i < end; ++i) {
      if (logits[i] == row.logits[i]) continue;
      if (snapshot.listed.size() == most) return false;
      snapshot.listed.push_back({static_cast<std::int32_t>(i), logits[i]});
      count(row.logits[i], -1);
      count(logits[i], 1);
    }
  }
  // Where much has come or little is left, the difference is mostly rounding.
  if (!(weights > row.weights / 1024 && weights < row.weights * 1024)) return false;
  measure(snapshot, row.center, weights, distances);
  return true;
}

float Tracer::logit_of(const Snapshot& whole, std::int32_t id) {
  const auto changed = std::lower_bound(whole.listed.begin(), whole.listed.end(), id,
                                        [](const Candidate& each, std::int32_t wanted) { return each.id < wanted; });
  const bool is_changed = changed != whole.listed.end() && changed->id == id;
  return is_changed ? changed->logit : whole.row.logits[static_cast<std::size_t>(id)];
}

// The probability, before, of the candidates that are there and not masked now.
double Tracer::kept_mass(const Snapshot& before, const Candidates& candidates) {
  if (!before.is_whole) {
    logits_by_id_.resize(std::max(logits_by_id_.size(), candidates.vocabulary()));
    for (const Candidate& each : before.listed) logits_by_id_[static_cast<std::size_t>(each.id)] = each.logit;
  }
  kept_logits_.clear();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates.logits()[i] == kMasked) continue;
    const std::int32_t id = candidates.id(i);
    kept_logits_.push_back(before.is_whole ? logit_of(before, id) : logits_by_id_[static_cast<std::size_t>(id)]);
  }
  const float highest = row_highest(kept_logits_).highest;
  if (highest == kMasked) return 0;  // only what was masked before
  return row_mass(kept_logits_, highest).weights * exp_f64(static_cast<double>(highest) - before.log_total);
}

TraceMoment Tracer::moment(const Snapshot& snapshot, std::int32_t id) {
  Candidate chosen{id, 0};
  std::size_t before = 0;
  if (snapshot.is_whole) {
    chosen.logit = logit_of(snapshot, id);
    before = count_before(snapshot.row.logits, chosen);
    for (const Candidate& each : snapshot.listed) {
      const Candidate replaced{each.id, snapshot.row.logits[static_cast<std::size_t>(each.id)]};
      before += precedes(each, chosen) ? 1 : 0;
      before -= precedes(replaced, chosen) ? 1 : 0;
    }
  } else {
    const auto is_chosen = [&](const Candidate& each) { return each.id == id; };
    const auto found = std::find_if(snapshot.listed.begin(), snapshot.listed.end(), is_chosen);
    PLM_CHECK(found != snapshot.listed.end());
    chosen = *found;
    before = static_cast<std::size_t>(std::count_if(snapshot.listed.begin(), snapshot.listed.end(),
                                                    [&](const Candidate& each) { return precedes(each, chosen); }));
  }
  return {.support = snapshot.support,
          .entropy = snapshot.entropy,
          .rank = before + 1,
          .probability = exp_f64(static_cast<double>(chosen.logit) - snapshot.log_total)};
}

TokenTrace Tracer::finish(const Selection& selection) const {
  TokenTrace trace{
      .id = selection.id, .random = selection.random, .raw = moment(snapshots_[0], selection.id), .top = likely_};
  for (std::size_t i = 1; i < taken_; ++i) {
    const Snapshot& snapshot = snapshots_[i];
    trace.steps.push_back({.sampler = snapshot.sampler,
                           .removed_mass = snapshot.removed_mass,
                           .state = snapshot.state,
                           .after = moment(snapshot, selection.id)});
  }
  return trace;
}

Json as_json(const TokenTrace& trace) {
  Json raw = moment_json(trace.raw);
  Json top = Json::array();
  for (const TokenTrace::Likely& likely : trace.top) {
    top.push_back({{"id", likely.id}, {"logit", likely.logit}, {"probability", likely.probability}});
  }
  raw["top"] = std::move(top);
  Json steps = Json::array();
  for (const TraceStep& step : trace.steps) {
    Json object = {{"sampler", step.sampler}, {"removed_mass", step.removed_mass}};
    object.update(moment_json(step.after));
    if (!step.state.empty()) object["state"] = step.state;
    steps.push_back(std::move(object));
  }
  return {{"id", trace.id}, {"random", trace.random}, {"raw", std::move(raw)}, {"steps", std::move(steps)}};
}

}  // namespace plm
