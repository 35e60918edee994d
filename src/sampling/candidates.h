// The tokens that may still be chosen at one position, with their logits.
//
// Canonical order: logit descending, then id ascending; every cut and every draw is defined by it, never by the order
// in memory. A masked token has the logit -inf: it is a candidate of probability 0. There is always a candidate that is
// not masked.
//
// Nothing here sorts a whole vocabulary. The highest k come from one scan with a rising threshold. A prefix that holds
// a given probability (top_p, and the draw itself) comes from one pass of exponentials and a table of the mass in bands
// of logits: only the band in which the prefix ends is sorted. Tested by tests/sampling/test_candidates.cpp against
// full sorts.
#pragma once

#include <cstddef>
#include <cstdint>
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
  [[nodiscard]] std::int32_t id(std::size_t i) const { return is_whole_ ? static_cast<std::int32_t>(i) : ids_[i]; }
  [[nodiscard]] std::span<const float> logits() const { return logits_; }
  /// The greatest logit, finite.
  [[nodiscard]] float highest() const { return highest_; }
  /// Candidates that are not masked.
  [[nodiscard]] std::size_t support() const;

  /// Keeps the first `count` (> 0) in canonical order.
  void keep_top(std::size_t count);
  /// Keeps the candidates with at least this logit, and no fewer than `min_keep` of them nor than one.
  void keep_at_least(float logit, std::size_t min_keep);
  /// Keeps the shortest canonical prefix that holds at least `mass` (in [0, 1)) of the probability, and no fewer than
  /// `min_keep` candidates.
  void keep_mass(double mass, std::size_t min_keep);
  /// Divides every logit by `divisor` > 0, where highest() / divisor is finite.
  void divide_logits(float divisor);

  struct Pick {
    std::int32_t id;
    double probability, log_probability;
  };
  /// The candidate at which the cumulative probability in canonical order first reaches `u` in [0, 1).
  [[nodiscard]] Pick pick(double u);

 private:
  struct Prefix {
    Candidate last;
    double total;  // sum of all weights e^(logit - highest)
  };
  /// The shortest canonical prefix that holds at least `mass` of the probability, given by its last candidate.
  Prefix find_prefix(double mass);
  void keep(std::span<const std::uint32_t> kept);  // indices, ascending
  void make_room(std::size_t count);

  std::span<const float> logits_;  // the vocabulary's, as given, or the first of own_logits_
  bool is_whole_ = true;           // candidate i is token i
  float highest_ = 0;
  std::vector<std::int32_t> ids_;  // unless is_whole_
  std::vector<float> own_logits_;
  // Scratch. It only grows, since filling it anew costs as much as using it.
  std::vector<float> weights_;
  std::vector<double> band_masses_;  // by distance from the highest logit
  std::vector<std::uint32_t> indices_;
};

}  // namespace plm
