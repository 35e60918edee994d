// truncated: the text stops before it is finished.
// Tested by tests/lab/test_symptoms.cpp.
#include <algorithm>
#include <string>

#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the limit of tokens", "a higher --max-tokens"},
    {"a stop string that stands inside the text", "without --stop"},
    {"an end token that a bias or a penalty made likely", "without --logit-bias"},
    {"the context is full", "a larger --context"},
    {"thinking used up the budget", "a higher budget, or none"},
    {"whoever read the text left", "write it again"},
};

bool ends_a_sentence(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return !text.empty() && std::string_view(".!?\"\'`)]}").find(text.back()) != std::string_view::npos;
}

// What the text has opened and not closed: a fence of code, or brackets of a reply that begins with one.
std::string open_part(std::string_view text) {
  std::size_t fences = 0;
  for (std::size_t at = text.find("```"); at != std::string_view::npos; at = text.find("```", at + 3)) ++fences;
  if (fences % 2 == 1) return "a fence of code";
  const std::size_t first = text.find_first_not_of(" \n\t");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return "";
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = first; at < text.size(); ++at) {
    const char letter = text[at];
    if (in_string && letter == '\\') ++at;
    if (letter == '"') in_string = !in_string;
    if (in_string) continue;
    if (letter == '{' || letter == '[') ++depth;
    if ((letter == '}' || letter == ']') && depth > 0) --depth;
  }
  return depth > 0 || in_string ? "JSON" : "";
}

std::optional<Finding> detect(const RunRecord& record) {
  if (record.stop.empty()) return std::nullopt;
  const std::string open = open_part(record.text);
  const bool by_limit = record.stop == "limit" || record.stop == "length" || record.stop == "max_tokens";
  const bool by_string = record.stop == "stop" && !open.empty();
  if (!by_limit && !by_string && (record.stop != "eos" || open.empty())) return std::nullopt;
  if (by_limit && record.tokens.empty()) return std::nullopt;
  // A text that ran into its limit at the end of a sentence may as well be finished.
  if (by_limit && open.empty() && ends_a_sentence(record.text)) return std::nullopt;
  Finding finding;
  finding.evidence = {{"tokens written", static_cast<double>(record.tokens.size()), "fewer than the limit"}};
  finding.where = open.empty() ? "in the middle of a sentence" : "inside " + open;
  return finding;
}

}  // namespace

extern const Symptom symptom_truncated;
constinit const Symptom symptom_truncated = {
    .head = {.name = "truncated",
             .summary = "the text stops before it is finished",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "why it ended, and the text",
    .detect = detect,
};

}  // namespace plm
