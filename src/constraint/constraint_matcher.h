// One text under a constraint: where it stands, what may come next, and how it can still be ended in time.
//
// With `closes` the tokens that are left are part of the constraint: a token is allowed only if the text can be ended
// with those left after it. Near the end a plan (tokens that end the text) is kept, whose next token is always allowed,
// so there is always one; the plan is never longer than what is left.
// What must stay true: after accept() of an allowed token the text can be completed. Tested by
// tests/constraint/test_constraint_matcher.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/token_constraint.h"

namespace plm {

class ConstraintMatcher {
 public:
  explicit ConstraintMatcher(std::shared_ptr<TokenConstraint> constraint, bool closes = true)
      : constraint_(std::move(constraint)), closes_(closes), path_{constraint_->start()} {}

  /// Error (unsatisfiable): even the shortest text needs more tokens.
  Result<void> check_budget(std::size_t tokens);

  /// The tokens that may come next when `tokens_left` >= 1 may still be written, end tokens included where the text may
  /// end. Empty only if it must, and the vocabulary has no end token. Errors: no_room, unsatisfiable (no token fits).
  Result<TokenBits> allowed(std::size_t tokens_left);
  /// Goes on by a token that is allowed and does not end the text. Error (unsatisfiable): it is not.
  Result<void> accept(TokenId token);
  /// Takes back the last `count` tokens.
  void roll_back(std::size_t count);

  /// Whether the text may end here.
  [[nodiscard]] bool accepts() const { return constraint_->accepts(path_.back()); }
  /// Whether the text may end here and nothing else may follow. Errors: no_room.
  [[nodiscard]] Result<bool> is_over() const;
  /// Whether `text` is a whole text of the constraint.
  [[nodiscard]] bool could_end_with(std::string_view text) const {
    return constraint_->accepts(constraint_->step(constraint_->start(), text));
  }
  /// Tokens accepted.
  [[nodiscard]] std::size_t size() const { return path_.size() - 1; }

  /// The tokens of `spelled`, which spell bytes that must come next, that are no matter of choice: those at its end
  /// that a longer token could replace are left out.
  std::vector<TokenId> settled(std::vector<TokenId> spelled);
  /// Bytes that must come next, at most `most`.
  [[nodiscard]] std::string forced(std::size_t most) const { return constraint_->forced(path_.back(), most); }
  [[nodiscard]] const TokenConstraint& constraint() const { return *constraint_; }

 private:
  std::shared_ptr<TokenConstraint> constraint_;
  bool closes_ = true;
  std::vector<StateId> path_;  // states, the first before any token
  std::vector<TokenId> plan_;  // tokens that end the text from plan_at_ on; empty: none was needed yet
  std::size_t plan_at_ = 0;    // size() where the plan begins
};

}  // namespace plm
