#include "decode/constraint_gate.h"

#include <algorithm>
#include <limits>

#include "constraint/constraint_matcher.h"

namespace plm {
namespace {

constexpr std::size_t kMostForcedBytes = 1024;  // that are spelled at once

}  // namespace

Result<ConstraintGate::Next> ConstraintGate::look(std::size_t tokens_left) {
  ConstraintMatcher& matcher = *job_.constraint.matcher;
  PLM_TRY_ASSIGN(allowed_, matcher.allowed(tokens_left));
  TokenBits text = allowed_;
  for (const TokenId end : matcher.constraint().trie().end_tokens()) text.erase(end);
  const std::size_t choices = text.count();
  if (choices == 0) return Next::end;
  if (job_.end_tokens.empty()) allowed_ = text;  // the text is not to end before it must
  settled_.reset();
  if (job_.constraint.resamples) return Next::open;
  if (choices == 1 && !(matcher.accepts() && !job_.end_tokens.empty())) {
    text.for_each([this](TokenId only) { settled_ = only; });
    if (!ahead_.empty() && ahead_.front() != *settled_) ahead_.clear();
  } else {
    if (ahead_.empty()) spell_ahead();
    if (!ahead_.empty() && !allowed_.contains(ahead_.front())) ahead_.clear();  // there is no room for it
    if (!ahead_.empty()) settled_ = ahead_.front();
  }
  return settled_.has_value() ? Next::settled : Next::open;
}

void ConstraintGate::spell_ahead() {
  if (!job_.constraint.spell) return;
  ConstraintMatcher& matcher = *job_.constraint.matcher;
  const std::string text = matcher.forced(kMostForcedBytes);
  if (text.empty()) return;
  const std::vector<TokenId> tokens = matcher.settled(job_.constraint.spell(text));
  ahead_.assign(tokens.begin(), tokens.end());
}

std::span<const float> ConstraintGate::masked(std::span<const float> logits) {
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  row_.assign(logits.size(), kImpossible);
  allowed_.for_each([&](TokenId id) {
    if (static_cast<std::size_t>(id) < logits.size())
      row_[static_cast<std::size_t>(id)] = logits[static_cast<std::size_t>(id)];
  });
  return row_;
}

Result<Choice> ConstraintGate::choose(std::span<const float> logits, std::size_t position) {
  if (!job_.constraint.resamples) return plm::choose(job_, masked(logits), position, {.raw = logits});
  PLM_TRY_ASSIGN(Choice free, plm::choose(job_, logits, position, {.raw = logits}));
  if (allowed_.contains(free.selection.id)) return free;
  return plm::choose(job_, masked(logits), position, {.raw = logits, .draw = 1});
}

Result<void> ConstraintGate::accept(TokenId token) {
  if (!ahead_.empty() && ahead_.front() == token) {
    ahead_.pop_front();
  } else {
    ahead_.clear();
  }
  return job_.constraint.matcher->accept(token);
}

void ConstraintGate::roll_back(std::size_t count) {
  ahead_.clear();
  job_.constraint.matcher->roll_back(count);
}

Result<bool> ConstraintGate::is_over() const { return job_.constraint.matcher->is_over(); }

bool ConstraintGate::is_complete(std::string_view text) const { return job_.constraint.matcher->could_end_with(text); }

}  // namespace plm
