// What the passes of a text cost: how many there were, how many rows they computed and how many cells were read from
// memory in their place, how long passes of so many rows took, and how far a cache that is not exact was off. Built
// from events (datasheet 44 and 45). Tested by tests/engine/test_pass_tally.cpp.
#pragma once

#include <cstddef>
#include <map>

#include "base/clock.h"
#include "decode/event.h"

namespace plm {

class PassTally {
 public:
  struct Cost {
    std::size_t passes = 0;
    double ms = 0;
  };
  /// What the meter of a cache that is not exact has found.
  struct Drift {
    std::size_t measured = 0;         ///< passes
    std::size_t rows = 0;             ///< compared
    double flipped = 0;               ///< rows with another likeliest token
    double largest_logit_change = 0;  ///< of any logit
    double ms = 0;                    ///< that measuring took
  };

  /// A pass takes from the event before it to its own; beside other texts that is the time of the batch.
  void on_event(const Event& event) { on_event(event, watch_.elapsed_ms()); }
  /// The same at a time of one's own, in milliseconds since any moment.
  void on_event(const Event& event, double now_ms);
  void add(const PassTally& other);

  [[nodiscard]] std::size_t passes() const { return passes_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t reused() const { return reused_; }
  /// Of all cells that passes saw, those whose state was there before.
  [[nodiscard]] double hit_rate() const;
  [[nodiscard]] const std::map<std::size_t, Cost>& by_rows() const { return by_rows_; }
  [[nodiscard]] const Drift& drift() const { return drift_; }

 private:
  Stopwatch watch_;
  double last_ms_ = 0;
  std::size_t passes_ = 0, rows_ = 0, reused_ = 0;
  std::map<std::size_t, Cost> by_rows_;
  Drift drift_;
};

}  // namespace plm
