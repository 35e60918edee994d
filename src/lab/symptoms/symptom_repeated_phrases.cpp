// repeated_phrases: the text repeats a span of itself.
// Tested by tests/lab/test_symptoms.cpp.
#include "lab/repetition.h"
#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the next token is certain: greedy, or too low a temperature",
     "write on from two periods before the loop with --temperature 0.8"},
    {"the span stands in the prompt, which the model copies", "take the span out of the prompt"},
    {"no penalty acts, or its sequence breakers stand in the span",
     "--dry-multiplier 0.8, with fewer --dry-sequence-breaker"},
    {"keys and values are stored too coarsely", "--kv-dtype f16"},
    {"rotations are not those that the model was trained with: it is then more certain, and loops",
     "plm score on a text that is known, with --rope-base left as the file says"},
    {"the text may not end", "leave out --ignore-eos and bans of end tokens"},
};

std::optional<Finding> detect(const RunRecord& record) {
  constexpr std::size_t kGram = 4, kWindow = 64;
  constexpr double kMostRepeated = 0.5;
  Finding finding;
  const Tokens tokens = record.tokens;
  // One token alone must stand there more often: rules and blanks do.
  const auto loop = tail_loop(tokens, {});
  const bool is_loop = loop.has_value() && (loop->period > 1 || loop->copies >= 8);
  if (is_loop) {
    finding.evidence = {{"period of the loop, tokens", static_cast<double>(loop->period), "none"},
                        {"copies", static_cast<double>(loop->copies), "below 3"},
                        {"tokens in the loop", static_cast<double>(loop->cover), "below 48"}};
    finding.where = fmt::format("from token {} on", tokens.size() - loop->cover);
  }
  const auto worst = most_repeated_window(tokens, kGram, kWindow);
  const bool is_window = worst.has_value() && worst->share >= kMostRepeated;
  if (is_window) {
    finding.evidence.push_back({"share of repeated 4-grams in 64 tokens", worst->share, "below 0.5"});
    if (!is_loop) finding.where = fmt::format("in the 64 tokens from {} on", worst->begin);
  }
  // A long span may come back after another one, in no window of its own.
  constexpr double kMostOverall = 0.6;
  const auto overall = tokens.size() >= 2 * kWindow ? repeated_ngrams(tokens, kGram) : std::nullopt;
  const bool is_everywhere = overall.has_value() && *overall >= kMostOverall;
  if (is_everywhere) finding.evidence.push_back({"share of repeated 4-grams", *overall, "below 0.35"});
  if (finding.evidence.empty()) return std::nullopt;
  if (const auto mean = record.mean_log_probability(); mean.has_value()) {
    finding.evidence.push_back({"mean log-probability, nats", *mean, "about -1.2"});
  }
  return finding;
}

}  // namespace

extern const Symptom symptom_repeated_phrases;
constinit const Symptom symptom_repeated_phrases = {
    .head = {.name = "repeated_phrases",
             .summary = "the text repeats a span of itself",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "tokens, or a text",
    .detect = detect,
};

}  // namespace plm
