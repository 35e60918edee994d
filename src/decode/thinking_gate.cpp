#include "decode/thinking_gate.h"

#include <cmath>
#include <limits>

#include "base/portable_math.h"

namespace plm {

ThinkingGate::ThinkingGate(const std::optional<BudgetRules>& rules, const Vocabulary& vocabulary)
    : vocabulary_(vocabulary) {
  if (!rules.has_value()) return;
  budget_.emplace(*rules);
  if (rules->begins_inside) force(budget_->begin_inside());
}

bool ThinkingGate::gives_way(TokenId next) {
  if (!budget_.has_value() || !forced_.empty() || next == budget_->rules().end.front()) return false;
  std::string text;
  vocabulary_.append_bytes(next, text);
  if (!budget_->may_close(cut_place(written_, text))) return false;
  force(budget_->close());
  return true;
}

void ThinkingGate::force(std::span<const TokenId> closing) {
  if (closing.empty()) return;
  if (is_in_fence_) forced_.insert(forced_.end(), budget_->rules().fence.begin(), budget_->rules().fence.end());
  forced_.insert(forced_.end(), closing.begin(), closing.end());
  is_in_fence_ = false;
}

void ThinkingGate::accept(TokenId token) {
  if (!budget_.has_value()) return;
  if (!forced_.empty()) {
    forced_.pop_front();
    is_just_closed_ = forced_.empty();
    written_.clear();
    return;
  }
  is_just_closed_ = false;
  const std::span<const TokenId> closing = budget_->feed(token);
  note_text(token);
  force(closing);
}

// The last token's text, and whether the thinking stands in a code fence.
void ThinkingGate::note_text(TokenId token) {
  constexpr std::size_t kFence = 3;
  written_.clear();
  vocabulary_.append_bytes(token, written_);
  for (const char c : written_) {
    backticks_ = c == '`' ? backticks_ + 1 : 0;
    if (backticks_ == kFence) is_in_fence_ = budget_->is_inside() && !is_in_fence_;
  }
  if (!budget_->is_inside()) is_in_fence_ = false;
}

bool ThinkingGate::changes_row() const {
  if (!budget_.has_value() || budget_->rules().end.size() != 1) return false;
  const auto& ramp = budget_->rules().ramp;
  return is_just_closed_ || (budget_->is_inside() && ramp.has_value() && budget_->used() >= ramp->soft);
}

// How good a place the text has come to for an end.
double ThinkingGate::place_weight() const {
  if (is_in_fence_) return 0;
  if (written_.ends_with('\n')) return 1;
  return cut_place(written_, " ") == CutPlace::line ? 0.3 : 0.05;
}

std::span<const float> ThinkingGate::changed(std::span<const float> logits, float log_sum_exp) {
  row_.assign(logits.begin(), logits.end());
  float& end = row_[static_cast<std::size_t>(budget_->rules().end.front())];
  if (is_just_closed_) {
    end = -std::numeric_limits<float>::infinity();
    return row_;
  }
  BudgetRamp ramp = *budget_->rules().ramp;
  ramp.most *= place_weight();
  // From the hard end on the budget itself closes, at a good place.
  const std::size_t used = std::min(budget_->used(), ramp.hard - 1);
  const double probability = exp_f64(static_cast<double>(end) - static_cast<double>(log_sum_exp));
  if (ramp.most > 0) end += static_cast<float>(closing_bias(ramp, probability, used));
  return row_;
}

}  // namespace plm
