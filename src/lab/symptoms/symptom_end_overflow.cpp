// end_overflow: a page fills with ends of text before what it should say is there.
// Tested by tests/lab/test_symptoms.cpp.
#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the model was trained with ends of text as padding", "no end before all earlier cells are decided"},
    {"the whole page is decided at once", "--block-length 32"},
    {"the page is much longer than the answer", "a shorter --max-tokens"},
};

std::optional<Finding> detect(const RunRecord& record) {
  constexpr double kEarly = 0.3, kMostShare = 0.5;
  const auto& states = record.page.states;
  if (states.size() < 3 || !record.end_token.has_value() || states.front().empty()) return std::nullopt;
  const auto& early = states[static_cast<std::size_t>(kEarly * static_cast<double>(states.size() - 1))];
  std::size_t decided = 0, ends = 0;
  for (const std::int32_t token : early) {
    decided += token != record.page.mask ? 1U : 0U;
    ends += token == *record.end_token ? 1U : 0U;
  }
  if (decided < 8) return std::nullopt;
  const double share = static_cast<double>(ends) / static_cast<double>(decided);
  if (share < kMostShare) return std::nullopt;
  Finding finding;
  finding.evidence = {{"ends of text among the tokens decided in the first 30 % of steps", share, "below 0.5"}};
  return finding;
}

}  // namespace

extern const Symptom symptom_end_overflow;
constinit const Symptom symptom_end_overflow = {
    .head = {.name = "end_overflow",
             .summary = "a page fills with ends of text before what it should say is there",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "states of a page, and its end token",
    .detect = detect,
};

}  // namespace plm
