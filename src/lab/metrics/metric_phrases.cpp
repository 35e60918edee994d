// phrases: phrases of the exhaustive Lempel-Ziv history, for each token.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/diversity.h"
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    const auto count = phrase_count(record.tokens);
    if (!count.has_value() || record.tokens.empty()) return std::nullopt;
    return static_cast<double>(*count) / static_cast<double>(record.tokens.size());
  });
}

}  // namespace

extern const Metric metric_phrases;
constinit const Metric metric_phrases = {
    .head = {.name = "phrases",
             .aliases = "lz76",
             .summary = "phrases of the exhaustive Lempel-Ziv history, for each token",
             .source = "Lempel and Ziv 1976"},
    .unit = "share",
    .conditioning = "each text by itself; up to 16,384 tokens",
    .measure = measure,
};

}  // namespace plm
