// strange_words: words stand where others belong: penalties push the first choice aside.
// Tested by tests/lab/test_symptoms.cpp.
#include "lab/repetition.h"
#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the repetition penalty is above 1.15", "--repeat-penalty 1"},
    {"presence or frequency penalty too high, or their window holds the prompt",
     "--presence-penalty 0 --frequency-penalty 0"},
    {"DRY stops spans that are too short", "--dry-allowed-length 4"},
    {"XTC takes the likeliest tokens away", "--xtc-probability 0"},
};

std::optional<Finding> detect(const RunRecord& record) {
  constexpr std::size_t kWindow = 128, kLeastTokens = 64;
  constexpr double kLeastDisplaced = 0.2, kLeastRepeated = 0.25, kOpen = -6;
  const auto displaced = record.displacement(), mean = record.mean_log_probability();
  const auto repeated = repeated_tokens(record.tokens, kWindow);
  if (record.tokens.size() < kLeastTokens || !displaced.has_value() || !repeated.has_value()) return std::nullopt;
  if (*displaced < kLeastDisplaced || *repeated >= kLeastRepeated) return std::nullopt;
  if (mean.has_value() && *mean < kOpen) return std::nullopt;  // nothing was held back: that is another symptom
  Finding finding;
  finding.evidence = {
      {"steps that were not the first choice, share", *displaced, "0 when greedy, 0.35 at temperature 0.8"},
      {"tokens that are among the 128 before them, share", *repeated, "about 0.5"}};
  if (mean.has_value()) finding.evidence.push_back({"mean log-probability, nats", *mean, "about -1.2"});
  return finding;
}

}  // namespace

extern const Symptom symptom_strange_words;
constinit const Symptom symptom_strange_words = {
    .head = {.name = "strange_words",
             .summary = "words stand where others belong: penalties push the first choice aside",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "tokens, and the rank of each or its displacement",
    .detect = detect,
};

}  // namespace plm
