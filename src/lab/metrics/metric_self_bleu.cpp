// self_bleu: how much each text is like the others.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/diversity.h"
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  constexpr std::size_t kMostTexts = 256;  // the time grows with the square of their number
  if (records.size() > kMostTexts) return std::nullopt;
  return self_bleu(tokens_of(records));
}

}  // namespace

extern const Metric metric_self_bleu;
constinit const Metric metric_self_bleu = {
    .head = {.name = "self_bleu", .summary = "how much each text is like the others", .source = "arXiv 1802.01886"},
    .unit = "",
    .conditioning = "all texts together; epsilon smoothing of 0.1; texts below 4 tokens get its floor",
    .measure = measure,
};

}  // namespace plm
