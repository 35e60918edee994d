// slow: steps take much longer than this machine needs for them.
// Tested by tests/lab/test_symptoms.cpp.
#include <algorithm>
#include <span>
#include <vector>

#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the context has grown", "16 steps at half the length"},
    {"the weights or the state have left the cache or the memory", "fewer sequences, or a smaller --context"},
    {"other programs or threads take the processor", "one thread fewer"},
    {"the type of keys and values has a slower path", "--kv-dtype f16"},
    {"a grammar or a sampler costs more than the model", "without either"},
    {"other texts in the batch", "the text alone"},
};

std::optional<Finding> detect(const RunRecord& record) {
  constexpr std::size_t kStretch = 32;
  constexpr double kMostRatio = 1.5;
  const auto& times = record.step_ms;
  if (times.size() < kStretch) return std::nullopt;
  const auto median = [](std::span<const double> part) {
    std::vector<double> sorted(part.begin(), part.end());
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  };
  const double last = median(std::span(times).last(kStretch));
  // Where nobody said what to expect, the first steps do.
  const double expected = record.expected_step_ms.value_or(median(std::span(times).first(kStretch)));
  if (!(expected > 0) || last <= kMostRatio * expected) return std::nullopt;
  Finding finding;
  finding.evidence = {{"milliseconds of a step, the last 32", last, fmt::format("{:.2f}", expected)},
                      {"times what was expected", last / expected, "below 1.5"}};
  return finding;
}

}  // namespace

extern const Symptom symptom_slow;
constinit const Symptom symptom_slow = {
    .head = {.name = "slow",
             .summary = "steps take much longer than this machine needs for them",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "times of steps, and what was expected of them",
    .detect = detect,
};

}  // namespace plm
