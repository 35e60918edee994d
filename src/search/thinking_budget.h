// How long a model may think before it answers: the budget as people write it, the counter that closes the thinking
// when it is used up, and the ramp that invites the model to close it itself. Datasheet 36; s1 (arXiv 2501.19393).
//
// The counter listens to every token of a response and answers with the tokens that are to follow before the model goes
// on. These are ordinary tokens: they enter the state and the stream. Tested by tests/search/test_thinking_budget.cpp.
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

struct BudgetRules {
  std::vector<TokenId> begin, end;    ///< the marks around what the model thinks; not empty
  std::vector<TokenId> closing;       ///< what closes it: a message, and the end mark
  std::optional<std::size_t> tokens;  ///< nothing: no bound
  BudgetScope scope = BudgetScope::turn;
  std::size_t grace = 0;             ///< tokens that may still follow until the line ends
  bool swallows_second_end = false;  ///< an end mark that follows a forced one is answered with nothing
};

class ThinkingBudget {
 public:
  explicit ThinkingBudget(BudgetRules rules);

  /// Takes the next token in; `ends_line`: a good place to stop. Returns the tokens to put behind it: none, or those
  /// that close the thinking; they are not to be fed.
  std::span<const TokenId> feed(TokenId token, bool ends_line = true);
  /// Begins inside: the prompt ends with the begin mark.
  std::span<const TokenId> begin_inside();

  [[nodiscard]] bool is_inside() const { return is_inside_; }
  /// Tokens thought: inside the marks, partial marks counted.
  [[nodiscard]] std::size_t used() const { return used_; }
  /// How often the budget closed the thinking.
  [[nodiscard]] std::size_t forced_ends() const { return forced_ends_; }
  /// Whether the last token was an end mark that came after a forced one, and is to be dropped.
  [[nodiscard]] bool is_second_end() const { return is_second_end_; }

 private:
  std::span<const TokenId> enter();
  std::span<const TokenId> leave_if_used_up(bool ends_line);
  [[nodiscard]] bool ends_with(std::span<const TokenId> mark) const;

  BudgetRules rules_;
  std::size_t used_ = 0, forced_ends_ = 0;
  bool is_inside_ = false, was_forced_ = false, is_second_end_ = false;
  std::vector<TokenId> recent_;  // as many as the longer mark has
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

}  // namespace plm
