#include "serve/text_plan.h"

#include <numeric>

namespace plm {

namespace {

std::size_t sum(const Answer& answer, std::size_t (*of)(const TextResult&)) {
  return std::accumulate(answer.texts.begin(), answer.texts.end(), std::size_t{0},
                         [&](std::size_t total, const TextResult& text) { return total + of(text); });
}

}  // namespace

std::size_t Answer::prompt_tokens() const {
  // Texts of one prompt share it.
  std::size_t total = 0;
  for (const TextPrompt& prompt : plan->prompts) total += prompt.tokens.size();
  return total;
}

std::size_t Answer::written_tokens() const {
  return sum(*this, [](const TextResult& text) { return text.tokens.size(); });
}

std::size_t Answer::reused_tokens() const {
  return sum(*this, [](const TextResult& text) { return text.reused_tokens; });
}

}  // namespace plm
