// oscillation: cells of a page go back and forth between tokens.
// Tested by tests/lab/test_symptoms.cpp.
#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the threshold to change a token is too low", "a higher threshold"},
    {"two tokens are equally likely", "--temperature 0"},
    {"two cells that depend on each other change together", "one cell a pass"},
};

std::optional<Finding> detect(const RunRecord& record) {
  constexpr double kMostShare = 0.02;
  const auto& states = record.page.states;
  if (states.size() < 4 || states.front().empty()) return std::nullopt;
  const auto cells = static_cast<double>(states.front().size());
  const double share = static_cast<double>(oscillating_cells(record.page)) / cells;
  if (share <= kMostShare) return std::nullopt;
  Finding finding;
  finding.evidence = {{"cells that went back to a token which they had left, share", share, "below 0.02"}};
  return finding;
}

}  // namespace

extern const Symptom symptom_oscillation;
constinit const Symptom symptom_oscillation = {
    .head = {.name = "oscillation",
             .summary = "cells of a page go back and forth between tokens",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "states of a page",
    .detect = detect,
};

}  // namespace plm
