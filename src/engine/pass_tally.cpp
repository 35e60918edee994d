#include "engine/pass_tally.h"

#include <algorithm>
#include <utility>

namespace plm {

void PassTally::on_event(const Event& event, double now_ms) {
  const double ms = now_ms - std::exchange(last_ms_, now_ms);
  if (event.kind == EventKind::pass_ran) {
    ++passes_;
    rows_ += event.rows;
    reused_ += event.reused;
    Cost& cost = by_rows_[event.rows];
    ++cost.passes;
    cost.ms += ms;
  } else if (event.kind == EventKind::drifted) {
    ++drift_.measured;
    drift_.rows += event.rows;
    drift_.flipped += event.probability * static_cast<double>(event.rows);
    drift_.largest_logit_change = std::max(drift_.largest_logit_change, event.score);
    drift_.ms += ms;
  }
}

void PassTally::add(const PassTally& other) {
  passes_ += other.passes_;
  rows_ += other.rows_;
  reused_ += other.reused_;
  for (const auto& [rows, cost] : other.by_rows_) {
    by_rows_[rows].passes += cost.passes;
    by_rows_[rows].ms += cost.ms;
  }
  drift_.measured += other.drift_.measured;
  drift_.rows += other.drift_.rows;
  drift_.flipped += other.drift_.flipped;
  drift_.largest_logit_change = std::max(drift_.largest_logit_change, other.drift_.largest_logit_change);
  drift_.ms += other.drift_.ms;
}

double PassTally::hit_rate() const {
  const std::size_t seen = rows_ + reused_;
  return seen == 0 ? 0 : static_cast<double>(reused_) / static_cast<double>(seen);
}

}  // namespace plm
