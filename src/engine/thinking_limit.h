// A budget for what a model thinks before it answers, as a request gives it: with the marks and messages as texts.
// Tested by tests/engine/test_thinking_limit.cpp.
#pragma once

#include <string>

#include "decode/thinking_budget.h"
#include "text/tokenizer.h"

namespace plm {

struct ThinkingLimit {
  std::string size;            ///< as BudgetSize reads it
  std::string begin, end;      ///< the marks around the thinking
  bool begins_inside = false;  ///< the prompt ends with the begin mark
  BudgetScope scope = BudgetScope::turn;
  std::size_t grace = 32;    ///< tokens, see BudgetRules
  std::string message = {};  ///< written in front of the end mark where the budget closes the thinking
  double soft = 0.8;         ///< share of the budget from which the end mark is raised; 1: never
};

struct ThinkingRoom {
  std::size_t max_tokens = 0;  ///< of the whole response
  std::size_t prompt = 0;      ///< tokens
};

/// What is kept of a response for its answer: a tenth, at least 256 tokens, but no more than half.
[[nodiscard]] std::size_t answer_reserve(std::size_t max_tokens);

/// With a budget that leaves the answer's reserve. Errors (usage): the size; a mark that is empty; marks that the
/// tokeniser cannot spell.
[[nodiscard]] Result<BudgetRules> thinking_rules(const ThinkingLimit& limit, const Tokenizer& tokenizer,
                                                 const ThinkingRoom& room);

}  // namespace plm
