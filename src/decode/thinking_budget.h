// How long a model may think before it answers: the budget as people write it, the counter that closes the thinking
// when it is used up, and the ramp that invites the model to close it itself. Datasheet 36; s1 (arXiv 2501.19393).
//
// The counter listens to every token of a response, says when the thinking is to be closed, and with which tokens.
// These are ordinary tokens: they enter the state and the stream. Tested by tests/decode/test_thinking_budget.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/token.h"

namespace plm {

/// "4000" tokens; "0.5" of the conversation's tokens, with an offset "0.5+4000" or "0.5-2300"; "-1": no bound.
class BudgetSize {
 public:
  /// Error (usage): anything else.
  static Result<BudgetSize> parse(std::string_view text);
  /// Tokens, never negative; nothing: no bound.
  [[nodiscard]] std::optional<std::size_t> tokens(std::size_t conversation_tokens) const;

 private:
  bool is_bounded_ = true;
  double share_ = 0;         // of the conversation
  std::int64_t offset_ = 0;  // tokens
};

/// What one counter counts.
enum class BudgetScope : unsigned char {
  turn,   ///< all thinking of a response
  block,  ///< each thinking part anew
};

/// The ramp of a soft end: from token `soft` on the end mark is raised to a probability that grows to `most` at `hard`.
struct BudgetRamp {
  std::size_t soft = 0, hard = 0;
  double most = 0.5;
  double gamma = 1;
};
/// What is added to the end mark's logit after `used` tokens, when its probability is `probability`: nothing where the
/// model would close anyway; infinite from `hard` on.
[[nodiscard]] double closing_bias(const BudgetRamp& ramp, double probability, std::size_t used);

struct BudgetRules {
  std::vector<TokenId> begin, end;    ///< the marks around what the model thinks; not empty
  std::vector<TokenId> closing;       ///< what closes it: a message, and the end mark
  std::vector<TokenId> fence = {};    ///< what closes a code fence
  std::optional<std::size_t> tokens;  ///< nothing: no bound
  BudgetScope scope = BudgetScope::turn;
  /// Tokens that may still follow until a line or a word ends, see may_close; 0: closed at once.
  std::size_t grace = 0;
  bool begins_inside = false;           ///< the prompt ends with the begin mark
  std::optional<BudgetRamp> ramp = {};  ///< for an end mark of one token
};

/// Where the thinking would be cut: between what is written and the token that the model would write next.
enum class CutPlace : unsigned char { line, word, letters, character };
/// A line ends where either side has a line feed, or a sentence does; a word where a side is no letter or digit.
[[nodiscard]] CutPlace cut_place(std::string_view written, std::string_view next);

class ThinkingBudget {
 public:
  explicit ThinkingBudget(BudgetRules rules);

  /// Takes the next token of the model in. With a grace of 0: returns the tokens to put behind it, none or those that
  /// close the thinking; they are not to be fed.
  std::span<const TokenId> feed(TokenId token);
  /// As `feed` of the begin mark, where the prompt ends with it.
  std::span<const TokenId> begin_inside();

  /// Whether the thinking is to be closed in place of the token that would come next: the budget is used up and the
  /// place is good enough for how far. A line's end always is, a word's from half of the grace on, letters when 16
  /// tokens more than the grace have been; a character is never cut.
  [[nodiscard]] bool may_close(CutPlace place) const;
  /// Closes it; returns what is to be written.
  std::span<const TokenId> close();

  [[nodiscard]] bool is_inside() const { return is_inside_; }
  [[nodiscard]] const BudgetRules& rules() const { return rules_; }
  /// Tokens thought: inside the marks, partial marks counted.
  [[nodiscard]] std::size_t used() const { return used_; }
  /// How often the budget closed the thinking.
  [[nodiscard]] std::size_t forced_ends() const { return forced_ends_; }

 private:
  [[nodiscard]] bool is_used_up() const { return rules_.tokens.has_value() && used_ >= *rules_.tokens; }
  std::span<const TokenId> enter();
  [[nodiscard]] bool ends_with(std::span<const TokenId> mark) const;

  BudgetRules rules_;
  std::size_t used_ = 0, forced_ends_ = 0;
  bool is_inside_ = false;
  std::vector<TokenId> recent_;  // as many as the longer mark has
};

}  // namespace plm
