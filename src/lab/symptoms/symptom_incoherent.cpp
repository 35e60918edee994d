// incoherent: the text makes no sense: tokens are drawn that the model holds to be impossible.
// Tested by tests/lab/test_symptoms.cpp.
#include <algorithm>
#include <cmath>

#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"temperature without truncation: the tail is drawn from", "write on with --temperature 0"},
    {"wrong weights, or the template of another model", "plm score on a text that is known, and plm template"},
    {"rotations are not those that the model was trained with", "plm score with --rope-base left as the file says"},
    {"weights are quantised too coarsely", "the same with a larger storage type"},
    {"the model cannot do better", "the same prompt with a larger model"},
};

// The most tokens, by their entropy, that every one of 16 steps in a row had to choose from, where these are more
// than 50.
std::optional<double> widest_stretch(const std::vector<double>& entropies) {
  constexpr std::size_t kStretch = 16;
  constexpr double kMostSupport = 50;
  double widest = 0;
  for (std::size_t begin = 0; begin + kStretch <= entropies.size(); ++begin) {
    const auto first = entropies.begin() + static_cast<std::ptrdiff_t>(begin);
    widest = std::max(widest, std::exp(*std::min_element(first, first + kStretch)));
  }
  return widest > kMostSupport ? std::optional(widest) : std::nullopt;
}

std::optional<Finding> detect(const RunRecord& record) {
  constexpr double kOpen = -6, kMostFar = 0.05;
  constexpr std::size_t kFarRank = 1000, kLeastTokens = 16;
  Finding finding;
  if (record.tokens.size() < kLeastTokens) return std::nullopt;
  const auto mean = record.mean_log_probability();
  if (mean.has_value() && *mean < kOpen) {
    finding.evidence.push_back({"mean log-probability, nats", *mean, "about -1.2, above -6"});
  }
  const auto far = std::ranges::count_if(record.ranks, [](std::size_t rank) { return rank > kFarRank; });
  const double share = record.ranks.empty() ? 0 : static_cast<double>(far) / static_cast<double>(record.ranks.size());
  if (share > kMostFar) finding.evidence.push_back({"tokens of rank above 1000, share", share, "below 0.05"});
  if (const auto wide = widest_stretch(record.chain_entropies); wide.has_value()) {
    finding.evidence.push_back({"tokens to choose from over 16 steps, at least", *wide, "below 50"});
  }
  if (finding.evidence.empty()) return std::nullopt;
  return finding;
}

}  // namespace

extern const Symptom symptom_incoherent;
constinit const Symptom symptom_incoherent = {
    .head = {.name = "incoherent",
             .summary = "the text makes no sense: tokens are drawn that the model holds to be impossible",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "log-probabilities or their mean; a trace",
    .detect = detect,
};

}  // namespace plm
