#include "sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/portable_math.h"
#include "sampling/row_scan.h"
#include "sampling/row_weights.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Bands of 1/64 nat, 32 nats in all: what lies lower weighs less than 1e-13 of the highest and shares the last band.
constexpr std::size_t kBands = 2048;
constexpr float kBandsPerNat = 64;
constexpr std::size_t kWorthAGuess = 8192;  // candidates
constexpr std::size_t kSampled = 8192;      // of those whose share is not worth mentioning, for the guess
constexpr double kHeavyShare = 1.0 / 32768;

std::size_t band_of(float distance) {
  return static_cast<std::size_t>(std::min(distance * kBandsPerNat, static_cast<float>(kBands - 1)));
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
  vocabulary_ = logits.size();
  is_weighed_ = false;
  is_whole_ = true;
  return {};
}

std::optional<std::size_t> Candidates::index_of(std::int32_t id) const {
  if (is_whole_)
    return id >= 0 && static_cast<std::size_t>(id) < size() ? std::optional<std::size_t>(id) : std::nullopt;
  const auto ids = std::span(ids_).first(size());
  const auto found = std::find(ids.begin(), ids.end(), id);
  return found == ids.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - ids.begin()));
}

std::size_t Candidates::support() const { return size() - row_place(logits_, -kInfinity).equal; }

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
  keep_prefix({.center = highest_, .mass = mass, .reach = Reach::at_least}, min_keep);
}

void Candidates::keep_typical(double mass, std::size_t min_keep) {
  // -ln p = ln total - (logit - highest), so the surprise is the entropy at the logit
  // highest + ln total - entropy, and a token is as far from typical as its logit is from that one.
  const double surprise = entropy();  // leaves the weights of its `weigh`
  typical_logit_ = highest_ + static_cast<float>(log_f64(weight_total_) - surprise);
  keep_prefix({.center = typical_logit_, .mass = mass, .reach = Reach::more_than}, min_keep);
}

void Candidates::keep_prefix(const Goal& goal, std::size_t min_keep) {
  const std::size_t fewest = std::min(min_keep, size());
  const Prefix prefix = find_prefix(goal, fewest > 1);
  if (!prefix.among.has_value()) return keep_through(goal.center, prefix.last);
  const float distance = std::abs(goal.center - prefix.last.logit);
  const auto among = *prefix.among;
  const auto end = std::remove_if(among.begin(), among.end(), [&](std::uint32_t i) {
    const float each = std::abs(goal.center - logits_[i]);
    return each > distance || (each == distance && precedes(prefix.last, {id(i), logits_[i]}));
  });
  const auto count = static_cast<std::size_t>(end - among.begin());
  return count < fewest ? keep_nearest(goal.center, fewest) : keep(among.first(count));
}

// The weights are those of `weigh`; they move along, and stay what they are unless the highest candidate went.
void Candidates::keep_through(float center, const Candidate& last) {
  make_room(size());
  const RowMove row{.logits = logits_,
                    .ids = is_whole_ ? nullptr : ids_.data(),
                    .weights = weights_.data(),
                    .kept_logits = own_logits_.data(),
                    .kept_ids = ids_.data()};
  const auto [count, highest] = row_keep(row, {.center = center, .logit = last.logit, .id = last.id});
  PLM_CHECK(highest > -kInfinity);
  logits_ = std::span(own_logits_).first(count);
  is_whole_ = false;
  is_weighed_ = highest == highest_;
  highest_ = highest;
  if (is_weighed_) weight_total_ = row_sum(std::span<const float>(weights_).first(count));
}

void Candidates::keep_nearest(float center, std::size_t count) {
  if (indices_.size() < size()) indices_.resize(size());
  const auto all = std::span(indices_).first(size());
  for (std::size_t i = 0; i < size(); ++i) all[i] = static_cast<std::uint32_t>(i);
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count - 1), all.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return is_nearer(center, a, b); });
  std::sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  keep(all.first(count));
}

bool Candidates::is_nearer(float center, std::uint32_t a, std::uint32_t b) const {
  const float distance_a = std::abs(center - logits_[a]), distance_b = std::abs(center - logits_[b]);
  return distance_a != distance_b ? distance_a < distance_b : precedes({id(a), logits_[a]}, {id(b), logits_[b]});
}

void Candidates::mask_below(float logit) {
  float* own = own_logits();
  for (std::size_t i = 0; i < size(); ++i) own[i] = own[i] < logit ? -kInfinity : own[i];
}

void Candidates::divide_logits(float divisor) {
  make_room(size());
  for (std::size_t i = 0; i < size(); ++i) own_logits_[i] = logits_[i] / divisor;
  logits_ = std::span(own_logits_).first(size());
  highest_ /= divisor;
}

Candidates::Weights Candidates::weigh() {
  if (weights_.size() < size()) weights_.resize(size());
  if (!is_weighed_) weight_total_ = row_weights(logits_, highest_, weights_.data());
  is_weighed_ = true;
  return {std::span(weights_).first(size()), weight_total_};
}

double Candidates::entropy() {
  const Weights weights = weigh();
  // -sum p ln p with ln p = (logit - highest) - ln total; a token of weight 0 adds nothing.
  return log_f64(weights.total) + row_distance_sum(logits_, highest_, weights.each) / weights.total;
}

double Candidates::logit_deviation() const {
  double sum = 0, count = 0;
  for (const float logit : logits_) {
    if (logit == -kInfinity) continue;
    sum += static_cast<double>(logit);
    count += 1;
  }
  const double mean = sum / count;
  double squares = 0;
  for (const float logit : logits_) {
    if (logit == -kInfinity) continue;
    const double distance = static_cast<double>(logit) - mean;
    squares += distance * distance;
  }
  return std::sqrt(squares / count);
}

std::vector<Candidate> Candidates::top(std::size_t count) const {
  return collect_top(logits_, count, [this](std::size_t i) { return id(i); });
}

void Candidates::note_probabilities() {
  (void)weigh();
  noted_total_ = weight_total_;
  noted_weights_.swap(weights_);
  is_weighed_ = false;
}

double Candidates::noted_probability(std::int32_t id) const {
  const auto index = index_of(id);
  PLM_CHECK(index.has_value() && *index < noted_weights_.size());
  return static_cast<double>(noted_weights_[*index]) / noted_total_;
}

Candidates::Pick Candidates::pick_of(const Candidate& candidate, double total) const {
  const float distance = candidate.logit - highest_;
  return {.id = candidate.id,
          .probability = static_cast<double>(exp_f32(distance)) / total,
          .log_probability = static_cast<double>(distance) - log_f64(total)};
}

Candidates::Pick Candidates::pick(double u) {
  const Prefix prefix = find_prefix({.center = highest_, .mass = u, .reach = Reach::at_least}, false);
  return pick_of(prefix.last, prefix.total);
}

Candidates::Pick Candidates::pick_in_memory_order(double u) {
  const Weights weights = weigh();
  double reached = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (weights.each[i] == 0) continue;  // a draw of exactly 0 must not take a masked token
    last = i;
    reached += static_cast<double>(weights.each[i]);
    if (reached >= u * weights.total) break;
  }
  return pick_of({id(last), logits_[last]}, weights.total);
}

void Candidates::sort() {
  std::vector<Candidate> sorted;
  for (std::size_t i = 0; i < size(); ++i) sorted.push_back({id(i), logits_[i]});
  std::sort(sorted.begin(), sorted.end(), precedes);
  reorder(sorted);
}

void Candidates::sort_by_typicality() {
  std::vector<Candidate> sorted;
  for (std::size_t i = 0; i < size(); ++i) sorted.push_back({id(i), logits_[i]});
  std::sort(sorted.begin(), sorted.end(), [this](const Candidate& a, const Candidate& b) {
    const float distance_a = std::abs(a.logit - typical_logit_), distance_b = std::abs(b.logit - typical_logit_);
    return distance_a != distance_b ? distance_a < distance_b : precedes(a, b);
  });
  reorder(sorted);
}

void Candidates::reorder(std::vector<Candidate>& sorted) {
  make_room(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    ids_[i] = sorted[i].id;
    own_logits_[i] = sorted[i].logit;
  }
  logits_ = std::span(own_logits_).first(sorted.size());
  is_whole_ = false;
}

Candidates::Prefix Candidates::find_prefix(const Goal& goal, bool all_are_wanted) {
  PLM_CHECK(goal.mass >= 0 && goal.mass < 1);
  const double total = weigh().total;
  const double target = goal.mass * total;
  std::optional<Stretch> stretch;
  if (size() >= kWorthAGuess) stretch = find_stretch(goal.center, target, all_are_wanted);
  if (!stretch.has_value()) stretch = everything();
  const Candidate last = last_of_prefix(goal, *stretch, target);
  if (stretch->near > 0) return {.last = last, .total = total, .among = std::nullopt};
  return {.last = last, .total = total, .among = stretch->indices};
}

// All candidates that have any weight.
Candidates::Stretch Candidates::everything() {
  constexpr float kLeast = std::numeric_limits<float>::min();
  return {.indices = row_indices_at_least(std::span<const float>(weights_).first(size()), kLeast, indices_),
          .far = static_cast<float>(kBands) / kBandsPerNat};
}

// A short stretch in which the prefix certainly ends, or one from the nearest on; nothing when the guess was wrong.
std::optional<Candidates::Stretch> Candidates::find_stretch(float center, double target, bool all_are_wanted) {
  const auto weights = std::span<const float>(weights_).first(size());
  const auto heavy_ones = row_indices_at_least(weights, static_cast<float>(weight_total_ * kHeavyShare), indices_);
  double heavy_mass = 0;
  for (const std::uint32_t i : heavy_ones) heavy_mass += static_cast<double>(weights[i]);
  if (center == highest_ && heavy_mass > target) {  // all others come later
    return Stretch{.indices = heavy_ones, .far = static_cast<float>(kBands) / kBandsPerNat};
  }
  Stretch stretch = guess_stretch(center, target, heavy_ones, heavy_mass);
  if (all_are_wanted) stretch.near = 0;
  if (stretch.near > 0) {
    const RowBounds bounds{.center = center, .near = stretch.near, .far = stretch.far};
    stretch.mass_before = row_split(logits_, weights, bounds, indices_, stretch.indices);
  } else {
    stretch.indices = row_indices_near(logits_, center, stretch.far, indices_);
  }
  double mass = stretch.mass_before;
  for (const std::uint32_t i : stretch.indices) mass += static_cast<double>(weights[i]);
  // Away from both ends by more than rounding.
  const double hair = weight_total_ * 1e-9;
  if (stretch.near > 0 && stretch.mass_before > target - hair) return std::nullopt;
  if (mass < target + hair) return std::nullopt;
  return stretch;
}

// Where the prefix probably ends. Those who hold a share worth mentioning are counted one by one; of the others every
// stride-th stands for its neighbours, which leaves a doubt of a few standard deviations. It begins with the nearest
// where these are few: gathering those costs less than adding up what lies before the end.
Candidates::Stretch Candidates::guess_stretch(float center, double target, std::span<const std::uint32_t> heavy_ones,
                                              double heavy_mass) {
  const auto heavy = static_cast<float>(weight_total_ * kHeavyShare);
  const auto band_at = [&](std::size_t i) { return band_of(std::abs(center - logits_[i])); };
  const std::size_t stride = size() / kSampled | 1;  // odd: the regularities of vocabularies are powers of two
  band_masses_.assign(kBands, 0.0);
  band_counts_.assign(kBands, 0);
  double sampled = 0;
  double squares = 0;
  for (std::size_t i = 0; i < size(); i += stride) {
    const double weight = weights_[i] < heavy ? static_cast<double>(weights_[i]) : 0.0;
    const std::size_t band = band_at(i);
    band_masses_[band] += weight;
    ++band_counts_[band];
    sampled += weight;
    squares += weight * weight;
  }
  const double light_mass = std::max(weight_total_ - heavy_mass, 0.0);
  const double times = sampled > 0 ? light_mass / sampled : 0.0;
  for (double& mass : band_masses_) mass *= times;
  for (const std::uint32_t i : heavy_ones) band_masses_[band_at(i)] += static_cast<double>(weights_[i]);

  // The whole is known, so near its end a guess errs less.
  double part = 0.5;
  if (center == highest_ && light_mass > 0) part = std::clamp((target - heavy_mass) / light_mass, 0.0, 1.0);
  const double deviation = std::sqrt(times * std::max(times - 1, 0.0) * squares) * 2 * std::sqrt(part * (1 - part));
  const double doubt = 4 * deviation + weight_total_ / 1000;
  std::size_t first = 0;
  double guessed = 0;
  std::size_t nearer = 0;  // of those sampled
  while (first + 1 < kBands && guessed + band_masses_[first] < target - doubt) {
    nearer += band_counts_[first];
    guessed += band_masses_[first++];
  }
  std::size_t last = first;
  while (last < kBands && guessed < target + doubt) {
    nearer += band_counts_[last];
    guessed += band_masses_[last++];
  }
  if (nearer * stride < size() / 16) first = 0;
  return {.near = static_cast<float>(first) / kBandsPerNat, .far = static_cast<float>(last) / kBandsPerNat};
}

Candidate Candidates::last_of_prefix(const Goal& goal, const Stretch& stretch, double target) {
  const float center = goal.center;
  const auto is_reached = [&](double sum) { return goal.reach == Reach::at_least ? sum >= target : sum > target; };
  const float bands_per_nat = static_cast<float>(kBands) / (stretch.far - stretch.near);
  const auto band_at = [&](std::uint32_t i) {
    const float place = (std::abs(center - logits_[i]) - stretch.near) * bands_per_nat;
    return static_cast<std::size_t>(std::min(place, static_cast<float>(kBands - 1)));
  };
  band_masses_.assign(kBands, 0.0);
  for (const std::uint32_t i : stretch.indices) band_masses_[band_at(i)] += static_cast<double>(weights_[i]);
  std::size_t last_band = 0;
  double before = stretch.mass_before;
  double reached = before;
  for (std::size_t band = 0, seen = 0; band < kBands && (seen == 0 || !is_reached(reached)); ++band) {
    if (band_masses_[band] == 0) continue;
    last_band = band;
    before = reached;
    reached += band_masses_[band];
    ++seen;
  }

  std::vector<std::uint32_t> in_band;
  for (const std::uint32_t i : stretch.indices) {
    if (band_at(i) == last_band) in_band.push_back(i);
  }
  std::sort(in_band.begin(), in_band.end(), [&](std::uint32_t a, std::uint32_t b) { return is_nearer(center, a, b); });
  // Rounding may leave the sum a hair short of the target: then the last of the band it is.
  for (const std::uint32_t i : in_band) {
    before += static_cast<double>(weights_[i]);
    if (is_reached(before)) return {id(i), logits_[i]};
  }
  return {id(in_band.back()), logits_[in_band.back()]};
}

void Candidates::keep(std::span<const std::uint32_t> kept) {
  make_room(kept.size());
  float highest = -kInfinity;
  for (std::size_t i = 0; i < kept.size(); ++i) {  // in place: kept[i] >= i
    ids_[i] = id(kept[i]);
    own_logits_[i] = logits_[kept[i]];
    highest = std::max(highest, own_logits_[i]);
  }
  PLM_CHECK(highest > -kInfinity);
  highest_ = highest;
  logits_ = std::span(own_logits_).first(kept.size());
  is_whole_ = false;
}

void Candidates::make_room(std::size_t count) {  // for what is to be written
  is_weighed_ = false;
  if (ids_.size() < count) ids_.resize(count);
  if (own_logits_.size() < count) own_logits_.resize(count);
}

float* Candidates::own_logits() {
  make_room(size());
  if (logits_.data() != own_logits_.data()) {
    std::copy(logits_.begin(), logits_.end(), own_logits_.begin());
    logits_ = std::span(own_logits_).first(size());
  }
  return own_logits_.data();
}

Result<void> Candidates::find_highest() {
  highest_ = row_highest(logits_).highest;
  if (highest_ == -kInfinity) return fail(ErrorKind::unsatisfiable, "no legal token is left: every token is masked");
  return {};
}

}  // namespace plm
