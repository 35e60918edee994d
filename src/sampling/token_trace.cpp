#include "sampling/token_trace.h"

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "base/portable_math.h"
#include "sampling/row_scan.h"

namespace plm {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

Json moment_json(const TraceMoment& moment) {
  return {{"support", moment.support},
          {"entropy", moment.entropy},
          {"rank", moment.rank},
          {"probability", moment.probability}};
}

}  // namespace

void Tracer::begins(Candidates& candidates) {
  taken_ = 0;
  const Snapshot& raw = take(candidates);
  likely_.clear();
  if (top_ == 0) return;
  for (const Candidate& candidate : candidates.top(std::min(top_, raw.support))) {
    likely_.push_back({candidate.id, candidate.logit, exp_f64(static_cast<double>(candidate.logit) - raw.log_total)});
  }
}

void Tracer::applied(std::string_view sampler, std::span<const double> state, Candidates& candidates) {
  double kept = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates.logits()[i] > kMasked)
      kept += static_cast<double>(weights_[static_cast<std::size_t>(candidates.id(i))]);
  }
  const double removed = std::max(0.0, 1 - kept / total_);
  Snapshot& snapshot = take(candidates);
  snapshot.removed_mass =
      snapshot.support == snapshots_[taken_ - 2].support ? 0.0 : removed;  // not what rounding makes
  snapshot.sampler = sampler;
  snapshot.state.assign(state.begin(), state.end());
}

Tracer::Snapshot& Tracer::take(Candidates& candidates) {
  if (taken_ == snapshots_.size()) snapshots_.emplace_back();
  Snapshot& snapshot = snapshots_[taken_++];
  snapshot.support = candidates.support();
  snapshot.entropy = std::max(0.0, candidates.entropy());
  const auto [weights, total] = candidates.weigh();
  snapshot.log_total = static_cast<double>(candidates.highest()) + log_f64(total);
  snapshot.logits.assign(candidates.logits().begin(), candidates.logits().end());
  snapshot.ids.clear();
  if (weights_.size() < candidates.vocabulary()) weights_.resize(candidates.vocabulary());
  total_ = total;
  if (candidates.is_whole()) {
    std::copy(weights.begin(), weights.end(), weights_.begin());
    return snapshot;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    snapshot.ids.push_back(candidates.id(i));
    weights_[static_cast<std::size_t>(candidates.id(i))] = weights[i];
  }
  return snapshot;
}

TraceMoment Tracer::moment(const Snapshot& snapshot, std::int32_t id) {
  const auto& ids = snapshot.ids;
  const auto found = std::find(ids.begin(), ids.end(), id) - ids.begin();
  const auto place = static_cast<std::size_t>(ids.empty() ? id : found);
  PLM_CHECK(place < snapshot.logits.size());
  const Candidate chosen{id, snapshot.logits[place]};
  auto [before, equal] = row_place(snapshot.logits, chosen.logit);
  for (std::size_t i = 0; i < snapshot.logits.size() && equal > 1; ++i) {
    const std::int32_t other = ids.empty() ? static_cast<std::int32_t>(i) : ids[i];
    before += snapshot.logits[i] == chosen.logit && other < id ? 1 : 0;
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
