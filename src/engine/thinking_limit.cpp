#include "engine/thinking_limit.h"

#include <algorithm>
#include <cmath>

namespace plm {

std::size_t answer_reserve(std::size_t max_tokens) {
  constexpr std::size_t kLeast = 256;
  return std::min(std::max(kLeast, max_tokens / 10), max_tokens / 2);
}

Result<BudgetRules> thinking_rules(const ThinkingLimit& limit, const Tokenizer& tokenizer, const ThinkingRoom& room) {
  if (limit.begin.empty() || limit.end.empty()) {
    return fail(ErrorKind::usage,
                "thinking budget: the model's chat template has no marks around its thinking; give them, or leave the "
                "budget out");
  }
  PLM_TRY_ASSIGN(const BudgetSize size, BudgetSize::parse(limit.size));
  const auto spell = [&](const std::string& text) {
    return tokenizer.encode(text, {.add_special = false, .parse_special = true});
  };
  BudgetRules rules{.scope = limit.scope, .grace = limit.grace, .begins_inside = limit.begins_inside};
  PLM_TRY_ASSIGN(rules.begin, spell(limit.begin));
  PLM_TRY_ASSIGN(rules.end, spell(limit.end));
  PLM_TRY_ASSIGN(rules.closing, spell(limit.message + limit.end));
  PLM_TRY_ASSIGN(rules.fence, spell("\n```\n"));
  const std::size_t room_to_think = room.max_tokens - answer_reserve(room.max_tokens);
  rules.tokens = size.tokens(room.prompt);
  if (rules.tokens.has_value()) rules.tokens = std::min(*rules.tokens, room_to_think);
  const std::size_t hard = rules.tokens.value_or(0);
  const auto soft = static_cast<std::size_t>(std::ceil(limit.soft * static_cast<double>(hard)));
  if (soft < hard && rules.end.size() == 1) rules.ramp = BudgetRamp{.soft = soft, .hard = hard};
  return rules;
}

}  // namespace plm
