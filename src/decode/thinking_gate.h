// Where a thinking budget stands in the writing of one text: it follows what is written, puts the tokens that close the
// thinking in place of the model's next one, and raises the end mark before that.
//
// Nothing is done to a row until the budget nears its end, so the fast path stays as it is. A forced end is never put
// inside a character or a word (decode/thinking_budget.h), an open code fence is closed first, and an end mark that the
// model would write once more right behind it is not drawn. Tested by tests/engine/test_thinking_limit.cpp.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decode/thinking_budget.h"
#include "text/vocabulary.h"

namespace plm {

class ThinkingGate {
 public:
  /// Nothing: there is no budget. The vocabulary must outlive the gate.
  ThinkingGate(const std::optional<BudgetRules>& rules, const Vocabulary& vocabulary);

  [[nodiscard]] bool is_there() const { return budget_.has_value(); }
  /// The token that must come next; nothing: the model's.
  [[nodiscard]] std::optional<TokenId> forced() const {
    return forced_.empty() ? std::nullopt : std::optional(forced_.front());
  }
  /// Whether the thinking is closed in place of `next`, which the model chose; forced() is set then.
  bool gives_way(TokenId next);
  /// Goes on by the token that was written: forced(), if there was one.
  void accept(TokenId token);

  /// Whether the next row is changed before a token is drawn from it.
  [[nodiscard]] bool changes_row() const;
  /// The row as it is drawn from; lives until the next call.
  [[nodiscard]] std::span<const float> changed(std::span<const float> logits, float log_sum_exp);

  [[nodiscard]] std::size_t used() const { return budget_.has_value() ? budget_->used() : 0; }
  [[nodiscard]] std::size_t forced_ends() const { return budget_.has_value() ? budget_->forced_ends() : 0; }

 private:
  void force(std::span<const TokenId> closing);
  void note_text(TokenId token);
  [[nodiscard]] double place_weight() const;

  std::optional<ThinkingBudget> budget_;
  const Vocabulary& vocabulary_;
  std::deque<TokenId> forced_;
  std::string written_;  // by the last token
  bool is_in_fence_ = false, is_just_closed_ = false;
  std::size_t backticks_ = 0;  // in a row, up to now
  std::vector<float> row_;
};

}  // namespace plm
