// What a chain did to the candidates of one token, sampler by sampler.
//
// A Tracer listens while the chain works and keeps what each sampler left; when the token has been drawn it tells the
// funnel through which it came. A chain that nobody traces does nothing for this. Probabilities and entropies (in nats)
// are of the candidates as they were at that moment; ranks count from 1 in canonical order.
//
// A pass over the whole vocabulary costs as much as many a chain, so there are few: the model's row is looked at where
// it lies, and of a sampler that changes a few tokens (penalties, dry, a bias) only these are noted and taken into the
// sums. Memory: one row for each sampler that changes the whole vocabulary, reused from token to token. Tested by
// tests/sampling/test_token_trace.cpp against distributions computed there.
#pragma once

#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "base/json_forward.h"
#include "sampling/chain.h"

namespace plm {

/// The candidates at one moment, and where the drawn token stood among them.
struct TraceMoment {
  std::size_t support = 0;  ///< candidates that are not masked
  double entropy = 0;
  std::size_t rank = 0;
  double probability = 0;
};

struct TraceStep {
  std::string_view sampler;
  double removed_mass = 0;    ///< probability, before the sampler, of the tokens that it removed or masked
  std::vector<double> state;  ///< the controller's numbers with which it worked
  TraceMoment after;
};

struct TokenTrace {
  std::int32_t id = 0;
  double random = 0;  ///< the number of the draw, in [0, 1)
  TraceMoment raw;    ///< the model's own distribution
  struct Likely {
    std::int32_t id;
    float logit;
    double probability;
  };
  std::vector<Likely> top;  ///< its likeliest tokens
  std::vector<TraceStep> steps;
};

/// docs/reference/trace.md says what the fields mean.
[[nodiscard]] Json as_json(const TokenTrace& trace);

class Tracer : public ChainObserver {
 public:
  /// How many of the likeliest tokens to note.
  void note_top(std::size_t top) { top_ = top; }

  /// The row of logits must stay until `finish`.
  void begins(Candidates& candidates) override;
  void applied(std::string_view sampler, std::span<const double> state, Candidates& candidates) override;
  /// After the chain has chosen.
  [[nodiscard]] TokenTrace finish(const Selection& selection) const;

 private:
  // A whole vocabulary, and the sums over e^(logit - center) of it.
  struct Row {
    std::span<const float> logits;
    float center = 0;  // the highest
    std::size_t support = 0;
    double weights = 0, distances = 0;  // as RowMass
  };
  // What is needed to find a token's place later: a whole vocabulary as a row with the few tokens that differ from it
  // (ascending ids), or what is left of one.
  struct Snapshot {
    bool is_whole = true;
    Row row;
    std::vector<Candidate> listed;
    std::vector<float> own_logits;  // the row's, when it is not the model's
    std::size_t support = 0;
    double log_total = 0;  // ln of the sum of e^logit
    double entropy = 0;
    double removed_mass = 0;
    std::string_view sampler;
    std::vector<double> state;
  };
  Snapshot& next_snapshot();
  static void measure(Snapshot& snapshot, float center, double weights, double distances);
  static Row row_of(std::span<const float> logits, float highest);
  static void take_rest(Snapshot& snapshot, Candidates& candidates);
  static void take_row(Snapshot& snapshot, const Candidates& candidates);
  static bool take_changes(Snapshot& snapshot, const Row& row, const Candidates& candidates);
  static float logit_of(const Snapshot& whole, std::int32_t id);
  [[nodiscard]] double kept_mass(const Snapshot& before, const Candidates& candidates);
  [[nodiscard]] static TraceMoment moment(const Snapshot& snapshot, std::int32_t id);

  std::size_t top_ = 0;
  std::deque<Snapshot> snapshots_;  // the first `taken_` are of this token
  std::size_t taken_ = 0;
  std::vector<float> logits_by_id_, kept_logits_;  // scratch
  std::vector<TokenTrace::Likely> likely_;
};

}  // namespace plm
