// The tokens that may still be chosen at one position, with their logits.
//
// Canonical order: logit descending, then id ascending; every cut and every draw is defined by it, never by the order
// in memory. A masked token has the logit -inf: it is a candidate of probability 0. There is always a candidate that is
// not masked.
//
// Nothing here sorts a whole vocabulary. The highest k come from one scan with a rising threshold. A prefix that holds
// a given probability (top_p, typical_p, and the draw itself) comes from one pass of exponentials, a guess from some
// thousand candidates where it ends, one pass that adds up what lies before and gathers what lies there, and a table of
// the mass in bands of that stretch: only the band in which the prefix ends is sorted. Tested by
// tests/sampling/test_candidates.cpp against full sorts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"

namespace plm {

struct Candidate {
  std::int32_t id;
  float logit;
};

/// Whether `a` comes before `b` in canonical order.
[[nodiscard]] inline bool precedes(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// The greatest logit. Errors: no logits, NaN or +inf (`failed`, naming the token), all masked (`unsatisfiable`).
[[nodiscard]] Result<float> highest_logit(std::span<const float> logits);

/// The `count` (> 0) first candidates of a vocabulary in canonical order, fewer when it is smaller.
[[nodiscard]] std::vector<Candidate> top_candidates(std::span<const float> logits, std::size_t count);

class Candidates {
 public:
  Candidates() = default;
  Candidates(const Candidates&) = delete;  // logits_ may look into own_logits_
  Candidates& operator=(const Candidates&) = delete;

  /// Makes every token of the vocabulary a candidate. The logits are not copied and must stay while the candidates are
  /// used. Errors as `highest_logit`.
  Result<void> reset(std::span<const float> logits);

  [[nodiscard]] std::size_t size() const { return logits_.size(); }
  /// Whether candidate i still is token i, for the whole vocabulary.
  [[nodiscard]] bool is_whole() const { return is_whole_; }
  [[nodiscard]] std::int32_t id(std::size_t i) const { return is_whole_ ? static_cast<std::int32_t>(i) : ids_[i]; }
  [[nodiscard]] std::span<const float> logits() const { return logits_; }
  /// The greatest logit, finite.
  [[nodiscard]] float highest() const { return highest_; }
  /// Candidates that are not masked.
  [[nodiscard]] std::size_t support() const;

  /// Tokens in the vocabulary, whatever is left of it.
  [[nodiscard]] std::size_t vocabulary() const { return vocabulary_; }
  /// Which candidate a token is; nothing when it was removed. Looks at every candidate unless none was removed.
  [[nodiscard]] std::optional<std::size_t> index_of(std::int32_t id) const;

  /// Keeps the first `count` (> 0) in canonical order.
  void keep_top(std::size_t count);
  /// Keeps the candidates with at least this logit, and no fewer than `min_keep` of them nor than one.
  void keep_at_least(float logit, std::size_t min_keep);
  /// Keeps the shortest canonical prefix that holds at least `mass` (in [0, 1)) of the probability, and no fewer than
  /// `min_keep` candidates.
  void keep_mass(double mass, std::size_t min_keep);
  /// Keeps the fewest candidates that together hold more than `mass` (in [0, 1)) of the probability, beginning with
  /// those whose surprise -ln p is nearest to the entropy (equals in canonical order), and no fewer than `min_keep`.
  void keep_typical(double mass, std::size_t min_keep);
  /// Keeps the candidates with these indices, ascending and at least one that is not masked.
  void keep(std::span<const std::uint32_t> kept);
  /// Masks the candidates below this logit, which is at most highest().
  void mask_below(float logit);

  /// Divides every logit by `divisor` > 0, where highest() / divisor is finite.
  void divide_logits(float divisor);
  /// Replaces every logit z that is not masked by change(z); what is beyond float32 becomes its largest number.
  template <typename Change>
  void map_logits(Change change);
  /// Replaces the logits of some tokens, given as ids, ascending and each once: token ids[k] gets change(k, logit).
  /// Tokens that are no candidates or masked are passed over. Result -inf masks the token.
  /// Error (unsatisfiable): every candidate is masked then.
  template <typename Change>
  Result<void> adjust(std::span<const std::int32_t> ids, Change change);

  /// The weights e^(logit - highest), by index; valid until the next call that is not const.
  struct Weights {
    std::span<const float> each;
    double total;
  };
  [[nodiscard]] Weights weigh();
  /// Of the distribution, in nats.
  [[nodiscard]] double entropy();
  /// The standard deviation of the logits that are not masked (divided by their number).
  [[nodiscard]] double logit_deviation() const;
  /// The first `count` (> 0) in canonical order, fewer when there are fewer.
  [[nodiscard]] std::vector<Candidate> top(std::size_t count) const;
  /// Notes the probabilities as they are now, for `noted_probability` after the logits have been changed.
  void note_probabilities();
  [[nodiscard]] double noted_probability(std::int32_t id) const;
  /// Replaces every logit that is not masked by logit(noted probability), which is finite.
  template <typename Logit>
  void set_logits_by_noted(Logit logit);

  struct Pick {
    std::int32_t id;
    double probability, log_probability;
  };
  /// The candidate at which the cumulative probability in canonical order first reaches `u` in [0, 1).
  [[nodiscard]] Pick pick(double u);

  // For draws with llama.cpp's random numbers, whose meaning depends on the order of its array.
  /// Brings the candidates into canonical order in memory.
  void sort();
  /// Brings them into the order of the last keep_typical.
  void sort_by_typicality();
  /// As `pick`, in the order in memory: that of the ids, until something was removed or sorted.
  [[nodiscard]] Pick pick_in_memory_order(double u);

 private:
  /// By ascending distance |center - logit| (equals in canonical order), the shortest prefix that holds at least `mass`
  /// of the probability, or more than that. With the highest logit as the center that is the canonical order.
  enum class Reach { at_least, more_than };
  struct Goal {
    float center;
    double mass;
    Reach reach;
  };
  struct Prefix {
    Candidate last;
    double total;  // sum of all weights e^(logit - highest)
    std::optional<std::span<std::uint32_t>>
        among;  // ascending indices, among them all of the prefix; unless it is long
  };
  Prefix find_prefix(const Goal& goal, bool all_are_wanted);
  /// The candidates among which a prefix ends: those whose distance is from `near` to below `far`.
  struct Stretch {
    std::span<std::uint32_t> indices;
    double mass_before = 0;  // of what is nearer than `near`
    float near = 0, far = 0;
  };
  [[nodiscard]] Stretch everything();
  [[nodiscard]] std::optional<Stretch> find_stretch(float center, double target, bool all_are_wanted);
  [[nodiscard]] Stretch guess_stretch(float center, double target, std::span<const std::uint32_t> heavy_ones,
                                      double heavy_mass);
  Candidate last_of_prefix(const Goal& goal, const Stretch& stretch, double target);
  [[nodiscard]] Pick pick_of(const Candidate& candidate, double total) const;
  void keep_prefix(const Goal& goal, std::size_t min_keep);
  void keep_through(float center, const Candidate& last);
  void keep_nearest(float center, std::size_t count);
  [[nodiscard]] bool is_nearer(float center, std::uint32_t a, std::uint32_t b) const;
  void reorder(std::vector<Candidate>& sorted);
  void make_room(std::size_t count);
  float* own_logits();  // for writing: copies what was given, if need be
  Result<void> find_highest();

  std::span<const float> logits_;  // the vocabulary's, as given, or the first of own_logits_
  bool is_whole_ = true;           // candidate i is token i
  std::size_t vocabulary_ = 0;
  float highest_ = 0;
  std::vector<std::int32_t> ids_;  // unless is_whole_
  std::vector<float> own_logits_;
  // Scratch. It only grows, since filling it anew costs as much as using it.
  std::vector<float> weights_;
  double weight_total_ = 0;
  bool is_weighed_ = false;          // weights_ are those of logits_
  std::vector<double> band_masses_;  // by distance from a center
  std::vector<std::size_t> band_counts_;
  std::vector<std::uint32_t> indices_;
  std::vector<float> noted_weights_;
  double noted_total_ = 0;
  float typical_logit_ = 0;  // of a token whose surprise is the entropy, at the last keep_typical
};

/// `x`, or float32's largest number of that sign when it is beyond; -inf stays.
[[nodiscard]] inline float within_float(double x) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (x == -std::numeric_limits<double>::infinity()) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(std::clamp(x, -kMost, kMost));
}

template <typename Change>
void Candidates::map_logits(Change change) {
  float* own = own_logits();
  for (std::size_t i = 0; i < size(); ++i) {
    if (own[i] > -std::numeric_limits<float>::infinity()) own[i] = change(own[i]);
  }
  PLM_CHECK(find_highest().has_value());
}

template <typename Logit>
void Candidates::set_logits_by_noted(Logit logit) {
  float* own = own_logits();
  for (std::size_t i = 0; i < size(); ++i) {
    if (own[i] > -std::numeric_limits<float>::infinity()) {
      own[i] = logit(static_cast<double>(noted_weights_[i]) / noted_total_);
    }
  }
  PLM_CHECK(find_highest().has_value());
}

template <typename Change>
Result<void> Candidates::adjust(std::span<const std::int32_t> ids, Change change) {
  float* own = own_logits();
  bool highest_is_lost = false;
  float highest = highest_;
  const auto apply = [&](std::size_t i, std::size_t k) {
    const float before = own[i];
    if (before == -std::numeric_limits<float>::infinity()) return;
    own[i] = change(k, before);
    highest_is_lost = highest_is_lost || (before == highest_ && own[i] < before);
    highest = std::max(highest, own[i]);
  };
  if (is_whole_) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (ids[k] >= 0 && static_cast<std::size_t>(ids[k]) < size()) apply(static_cast<std::size_t>(ids[k]), k);
    }
  } else {
    for (std::size_t i = 0; i < size(); ++i) {
      const auto found = std::lower_bound(ids.begin(), ids.end(), ids_[i]);
      if (found != ids.end() && *found == ids_[i]) apply(i, static_cast<std::size_t>(found - ids.begin()));
    }
  }
  highest_ = highest;
  return highest_is_lost ? find_highest() : Result<void>{};
}

}  // namespace plm
