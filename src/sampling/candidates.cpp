#include "sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/portable_math.h"
#include "sampling/row_scan.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Bands of 1/64 nat, 32 nats in all: what lies lower weighs less than 1e-13 of the highest and shares the last band.
constexpr std::size_t kBands = 2048;
constexpr float kBandsPerNat = 64;

std::size_t band_of(float distance_from_highest) {
  return static_cast<std::size_t>(std::min(distance_from_highest * kBandsPerNat, static_cast<float>(kBands - 1)));
}

// The first `count` in canonical order, sorted. Candidates gather in a buffer, chunk by chunk of the row; when there
// are enough it is cut back to the best, and the worst of those is the threshold for the next chunk.
template <typename IdOf>
std::vector<Candidate> collect_top(std::span<const float> logits, std::size_t count, IdOf id_of) {
  constexpr std::size_t kChunk = 1024;
  count = std::min(count, logits.size());
  std::vector<Candidate> best;
  best.reserve(std::min(2 * count + kChunk, logits.size()));
  std::vector<std::uint32_t> scratch;
  float threshold = -kInfinity;
  for (std::size_t begin = 0; begin < logits.size(); begin += kChunk) {
    const auto chunk = logits.subspan(begin, std::min(kChunk, logits.size() - begin));
    for (const std::uint32_t i : row_indices_at_least(chunk, threshold, scratch)) {
      best.push_back({id_of(begin + i), chunk[i]});
    }
    const bool is_last = begin + chunk.size() == logits.size();
    if (best.size() > count && (is_last || best.size() >= 2 * count)) {
      std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count - 1), best.end(), precedes);
      best.resize(count);
      threshold = best.back().logit;
    }
  }
  std::sort(best.begin(), best.end(), precedes);
  return best;
}

}  // namespace

Result<float> highest_logit(std::span<const float> logits) {
  if (logits.empty()) return fail(ErrorKind::failed, "no logits: the vocabulary is empty");
  const auto [highest, is_valid] = row_highest(logits);
  if (!is_valid) {
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float logit) { return !(logit < kInfinity); });
    return fail(ErrorKind::failed,
                "logit of token {} is {}, expected a finite number or -inf; the weights may be damaged",
                bad - logits.begin(), std::isnan(*bad) ? "nan" : "+inf");
  }
  if (highest == -kInfinity) return fail(ErrorKind::unsatisfiable, "no legal token: every token is masked");
  return highest;
}

std::vector<Candidate> top_candidates(std::span<const float> logits, std::size_t count) {
  return collect_top(logits, count, [](std::size_t i) { return static_cast<std::int32_t>(i); });
}

Result<void> Candidates::reset(std::span<const float> logits) {
  PLM_TRY_ASSIGN(highest_, highest_logit(logits));
  logits_ = logits;
  is_whole_ = true;
  return {};
}

std::size_t Candidates::support() const {
  const auto masked = std::count(logits_.begin(), logits_.end(), -kInfinity);
  return logits_.size() - static_cast<std::size_t>(masked);
}

void Candidates::keep_top(std::size_t count) {
  PLM_CHECK(count > 0);
  if (count >= size()) return;
  const auto best = collect_top(logits_, count, [this](std::size_t i) { return id(i); });
  make_room(count);
  for (std::size_t i = 0; i < count; ++i) {
    ids_[i] = best[i].id;
    own_logits_[i] = best[i].logit;
  }
  logits_ = std::span(own_logits_).first(count);
  is_whole_ = false;
}

void Candidates::keep_at_least(float logit, std::size_t min_keep) {
  const auto kept = row_indices_at_least(logits_, logit, indices_);
  const std::size_t fewest = std::max<std::size_t>(min_keep, 1);
  return kept.size() < fewest ? keep_top(fewest) : keep(kept);
}

void Candidates::keep_mass(double mass, std::size_t min_keep) {
  const Candidate last = find_prefix(mass).last;
  const auto kept = row_indices_at_least(logits_, last.logit, indices_);
  const auto end = std::remove_if(kept.begin(), kept.end(), [&](std::uint32_t i) {
    return precedes(last, {id(i), logits_[i]});
  });
  const std::size_t count = static_cast<std::size_t>(end - kept.begin());
  return count < min_keep ? keep_top(min_keep) : keep(kept.first(count));
}

void Candidates::divide_logits(float divisor) {
  make_room(size());
  for (std::size_t i = 0; i < size(); ++i) own_logits_[i] = logits_[i] / divisor;
  logits_ = std::span(own_logits_).first(size());
  highest_ /= divisor;
}

Candidates::Pick Candidates::pick(double u) {
  const Prefix prefix = find_prefix(u);
  const float distance = prefix.last.logit - highest_;
  return {.id = prefix.last.id,
          .probability = static_cast<double>(exp_f32(distance)) / prefix.total,
          .log_probability = static_cast<double>(distance) - log_f64(prefix.total)};
}

Candidates::Prefix Candidates::find_prefix(double mass) {
  PLM_CHECK(mass >= 0 && mass < 1);
  if (weights_.size() < size()) weights_.resize(size());
  const double total = row_weights(logits_, highest_, weights_.data());
  const double target = mass * total;

  // Half of what may stay outside, shared by all candidates: those that weigh less cannot complete the prefix.
  const double negligible = (1.0 - mass) * total / (2.0 * static_cast<double>(size()));
  const float lowest = highest_ + static_cast<float>(log_f64(negligible));
  const auto near = row_indices_at_least(logits_, lowest, indices_);

  band_masses_.assign(kBands, 0.0);
  for (const std::uint32_t i : near) {
    band_masses_[band_of(highest_ - logits_[i])] += static_cast<double>(weights_[i]);
  }
  std::size_t last_band = 0;
  double before = 0;
  double reached = 0;
  for (std::size_t band = 0; band == 0 || (band < kBands && reached < target); ++band) {
    if (band_masses_[band] == 0) continue;
    last_band = band;
    before = reached;
    reached += band_masses_[band];
  }

  std::vector<Candidate> in_band;
  for (const std::uint32_t i : near) {
    if (band_of(highest_ - logits_[i]) == last_band) in_band.push_back({id(i), logits_[i]});
  }
  std::sort(in_band.begin(), in_band.end(), precedes);
  // Rounding may leave the sum a hair short of the target: then the last of the band it is.
  for (const Candidate& candidate : in_band) {
    before += static_cast<double>(exp_f32(candidate.logit - highest_));
    if (before >= target) return {candidate, total};
  }
  return {in_band.back(), total};
}

void Candidates::keep(std::span<const std::uint32_t> kept) {
  make_room(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {  // in place: kept[i] >= i
    ids_[i] = id(kept[i]);
    own_logits_[i] = logits_[kept[i]];
  }
  logits_ = std::span(own_logits_).first(kept.size());
  is_whole_ = false;
}

void Candidates::make_room(std::size_t count) {
  if (ids_.size() < count) ids_.resize(count);
  if (own_logits_.size() < count) own_logits_.resize(count);
}

}  // namespace plm
