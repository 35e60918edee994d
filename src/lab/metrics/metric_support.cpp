// support: mean number of tokens that could be drawn.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    if (record.chain_supports.empty()) return std::nullopt;
    double sum = 0;
    for (const double each : record.chain_supports) sum += each;
    return sum / static_cast<double>(record.chain_supports.size());
  });
}

}  // namespace

extern const Metric metric_support;
constinit const Metric metric_support = {
    .head = {.name = "support",
             .summary = "mean number of tokens that could be drawn",
             .source = "reference metrics.md"},
    .unit = "tokens",
    .conditioning = "a trace; behind the sampler chain",
    .measure = measure,
};

}  // namespace plm
