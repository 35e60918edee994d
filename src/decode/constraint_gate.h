// Where a constraint stands between the network's row and the samplers of one text: before a pass it says whether the
// next token is settled already, after one it masks the row, and it follows what is written.
//
// The mask comes first and the chain of samplers after it, so that what is drawn is the model's own distribution among
// what the constraint allows. Tokens that are no matter of choice are decided without the network: the text ends where
// nothing but the end may follow, the only token that fits is taken, and bytes that must come are spelled as the
// model's tokeniser would. Tested by tests/decode/test_constraint_gate.cpp.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/token_trie.h"
#include "decode/choice.h"
#include "decode/decoder.h"

namespace plm {

class ConstraintGate {
 public:
  /// The job must outlive the gate.
  explicit ConstraintGate(DecodeJob& job) : job_(job) {}

  [[nodiscard]] bool is_there() const { return job_.constraint.matcher != nullptr; }

  enum class Next : std::uint8_t {
    open,     ///< the network is to be asked
    settled,  ///< it is settled()
    end,      ///< the text is complete and nothing may follow
  };
  /// Looks at the next token, when `tokens_left` >= 1 may still be written. Errors: those of
  /// ConstraintMatcher::allowed.
  Result<Next> look(std::size_t tokens_left);
  [[nodiscard]] TokenId settled() const { return *settled_; }

  /// Chooses as plm::choose does, from the row of the network, what look() found open.
  Result<Choice> choose(std::span<const float> logits, std::size_t position);
  /// The row without what is not allowed; lives until the next call.
  [[nodiscard]] std::span<const float> masked(std::span<const float> logits);

  /// Goes on by a token that does not end the text.
  Result<void> accept(TokenId token);
  void roll_back(std::size_t count);
  /// Whether the text is complete and nothing may follow.
  [[nodiscard]] Result<bool> is_over() const;
  /// Whether `text`, which was written, could be all of it: only then may a stop string end it there.
  [[nodiscard]] bool is_complete(std::string_view text) const;

 private:
  void spell_ahead();

  DecodeJob& job_;
  TokenBits allowed_;
  std::optional<TokenId> settled_;
  std::deque<TokenId> ahead_;  // spelled and not yet written
  std::vector<float> row_;
};

}  // namespace plm
