// premature_commitment: cells of a page are decided early and changed later.
// Tested by tests/lab/test_symptoms.cpp.
#include <algorithm>

#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the threshold of confidence is too low", "a threshold higher by 0.05"},
    {"too many cells are decided in a pass", "half the block, or one cell a pass"},
    {"cells that depend on each other are decided together", "--schedule with fewer cells in the first passes"},
};

std::optional<Finding> detect(const RunRecord& record) {
  constexpr double kEarly = 0.25, kMostShare = 0.1;
  const auto& states = record.page.states;
  if (states.size() < 4 || states.front().empty()) return std::nullopt;
  const auto& early = states[static_cast<std::size_t>(kEarly * static_cast<double>(states.size() - 1))];
  const auto& last = states.back();
  std::size_t decided = 0, changed = 0;
  for (std::size_t cell = 0; cell < std::min(early.size(), last.size()); ++cell) {
    if (early[cell] == record.page.mask) continue;
    ++decided;
    changed += last[cell] != early[cell] ? 1U : 0U;
  }
  if (decided < 8) return std::nullopt;
  const double share = static_cast<double>(changed) / static_cast<double>(decided);
  if (share <= kMostShare) return std::nullopt;
  Finding finding;
  finding.evidence = {{"tokens of the first quarter of steps that were changed, share", share, "below 0.1"}};
  return finding;
}

}  // namespace

extern const Symptom symptom_premature_commitment;
constinit const Symptom symptom_premature_commitment = {
    .head = {.name = "premature_commitment",
             .summary = "cells of a page are decided early and changed later",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "states of a page",
    .detect = detect,
};

}  // namespace plm
