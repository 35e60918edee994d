// context_loss: the text gets worse the further it is from its beginning.
// Tested by tests/lab/test_symptoms.cpp.
#include <span>

#include "lab/distribution.h"
#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the text is longer than those the model was trained with",
     "the same text within the trained context; plm plan names it"},
    {"rotations are stretched wrongly", "--rope-scaling and --rope-base left as the file says"},
    {"keys and values are stored too coarsely", "--kv-dtype f16"},
    {"layers with a window are computed without it", "plm plan: which layers have one"},
    {"earlier text was dropped to make room", "a larger --context"},
    {"the model uses less of its context than it has", "the same question behind the 2000 tokens that matter"},
};

std::optional<Finding> detect(const RunRecord& record) {
  constexpr std::size_t kEnd = 256, kBegin = 2048, kLeastTokens = 4096;
  constexpr double kMostRatio = 1.1;
  const auto& surprise = record.log_probabilities;
  if (surprise.size() < kLeastTokens) return std::nullopt;
  const auto early = perplexity(std::span(surprise).subspan(kBegin - kEnd, kEnd));
  const auto late = perplexity(std::span(surprise).last(kEnd));
  if (!early.has_value() || !late.has_value() || *late <= kMostRatio * *early) return std::nullopt;
  Finding finding;
  finding.evidence = {{"perplexity of the last 256 tokens", *late, "no more than 1.1 times that before token 2048"},
                      {"perplexity of the 256 tokens before 2048", *early, ""}};
  return finding;
}

}  // namespace

extern const Symptom symptom_context_loss;
constinit const Symptom symptom_context_loss = {
    .head = {.name = "context_loss",
             .summary = "the text gets worse the further it is from its beginning",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "log-probabilities of a long text",
    .detect = detect,
};

}  // namespace plm
