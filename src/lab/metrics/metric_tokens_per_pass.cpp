// tokens_per_pass: tokens that a pass decided.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"
#include "lab/page_history.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    if (!record.passes.has_value()) return std::nullopt;
    return tokens_per_pass(record.tokens.size(), *record.passes);
  });
}

}  // namespace

extern const Metric metric_tokens_per_pass;
constinit const Metric metric_tokens_per_pass = {
    .head = {.name = "tokens_per_pass", .summary = "tokens that a pass decided", .source = "reference metrics.md"},
    .unit = "tokens",
    .conditioning = "runs that count their passes, those that only remember among them",
    .measure = measure,
};

}  // namespace plm
