#include "decode/proposal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/portable_math.h"
#include "base/settings.h"

namespace plm {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::size_t largest(std::span<const double> values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

DistributionShape shape_of(std::span<const double> log_probabilities, TokenId proposed) {
  DistributionShape shape;
  for (std::size_t id = 0; id < log_probabilities.size(); ++id) {
    const double log_probability = log_probabilities[id];
    if (log_probability == kNever) continue;
    const double probability = exp_f64(log_probability);
    if (id == static_cast<std::size_t>(proposed)) shape.proposed = probability;
    shape.second = std::max(shape.second, std::min(shape.first, probability));
    shape.first = std::max(shape.first, probability);
    shape.entropy -= probability * log_probability;
  }
  return shape;
}

double score_of(const ProposalRule& rule, const DistributionShape& shape, TokenId proposed) {
  const bool is_last = std::ranges::find(rule.last, proposed) != rule.last.end();
  return is_last ? kNever : rule.confidence->of(shape);
}

}  // namespace

const ConfidenceDefinition* find_confidence(std::string_view name) {
  for (const ConfidenceDefinition* confidence : confidences()) {
    if (is_named(name, confidence->head.name, confidence->head.aliases)) return confidence;
  }
  return nullptr;
}

double gumbel(double u) { return -log_f64(-log_f64(u)); }

void log_softmax(std::span<double> logits) {
  const double max = *std::ranges::max_element(logits);
  PLM_CHECK(std::isfinite(max));
  double sum = 0;
  for (const double logit : logits) {
    if (logit != kNever) sum += exp_f64(logit - max);
  }
  const double log_sum = max + log_f64(sum);
  for (double& logit : logits) logit -= log_sum;
}

double divergence(std::span<const double> of, std::span<const double> from) {
  double sum = 0;
  for (std::size_t id = 0; id < of.size(); ++id) {
    if (of[id] != kNever) sum += exp_f64(of[id]) * (of[id] - from[id]);
  }
  return sum;
}

Proposal Proposer::operator()(std::span<const float> logits, std::span<const float> unconditional,
                              std::span<const double> noise, double uniform) {
  logits_.assign(logits.begin(), logits.end());
  for (std::size_t id = 0; id < unconditional.size(); ++id) {
    const double without = unconditional[id];
    logits_[id] = without + (rule_.guidance + 1) * (logits_[id] - without);
  }
  for (const TokenId id : rule_.suppressed) logits_[static_cast<std::size_t>(id)] = kNever;
  if (std::ranges::all_of(logits_, [](double logit) { return logit == kNever; })) return {};
  tempered_ = logits_;
  if (rule_.temperature > 0) temper();

  std::size_t token = 0;
  if (noise.empty()) {
    token = largest(tempered_);
  } else {
    scored_ = tempered_;
    for (std::size_t id = 0; id < scored_.size(); ++id) {
      if (scored_[id] != kNever) scored_[id] += gumbel(noise[id]);
    }
    token = largest(scored_);
  }
  scored_ = rule_.score_tempered ? tempered_ : logits_;
  log_softmax(scored_);
  const auto proposed = static_cast<TokenId>(token);
  DistributionShape shape = shape_of(scored_, proposed);
  shape.uniform = uniform;
  return {proposed, score_of(rule_, shape, proposed), shape.proposed, shape.entropy};
}

void Proposer::temper() {
  for (double& logit : tempered_) logit /= rule_.temperature;
  const bool cuts_count = rule_.top_k > 0 && rule_.top_k < tempered_.size();
  if (!cuts_count && rule_.top_p >= 1) return;
  const std::vector<std::size_t> ids = ranked();  // what a cut leaves stays in this order
  if (rule_.top_p_first) keep_top_p(ids);
  if (cuts_count) {
    for (const std::size_t id : std::span(ids).subspan(rule_.top_k)) tempered_[id] = kNever;
  }
  if (!rule_.top_p_first) keep_top_p(ids);
}

// Ids by value, ties by id.
std::vector<std::size_t> Proposer::ranked() const {
  std::vector<std::size_t> ids(tempered_.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  std::ranges::sort(ids, [this](std::size_t a, std::size_t b) {
    return tempered_[a] != tempered_[b] ? tempered_[a] > tempered_[b] : a < b;
  });
  return ids;
}

// A token stays while the mass before it is below top_p.
void Proposer::keep_top_p(std::span<const std::size_t> ids) {
  if (rule_.top_p >= 1) return;
  scored_ = tempered_;
  log_softmax(scored_);
  double mass = 0;
  bool stays = true;
  for (const std::size_t id : ids) {
    stays = stays && (mass == 0 || mass < rule_.top_p);
    if (!stays) tempered_[id] = kNever;
    if (scored_[id] != kNever) mass += exp_f64(scored_[id]);
  }
}

Proposal propose(const RowStatistics& statistics, const ProposalRule& rule, double uniform) {
  PLM_CHECK(rule.needs_only_statistics());
  const double first = exp_f64(double{statistics.max} - statistics.log_sum_exp);
  const DistributionShape shape{.proposed = first,
                                .first = first,
                                .second = exp_f64(double{statistics.second} - statistics.log_sum_exp),
                                .entropy = statistics.entropy,
                                .uniform = uniform};
  return {statistics.argmax, score_of(rule, shape, statistics.argmax), first, shape.entropy};
}

}  // namespace plm
