// entropy_chain: mean entropy of what was drawn from.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    if (record.chain_entropies.empty()) return std::nullopt;
    double sum = 0;
    for (const double each : record.chain_entropies) sum += each;
    return sum / static_cast<double>(record.chain_entropies.size());
  });
}

}  // namespace

extern const Metric metric_entropy_chain;
constinit const Metric metric_entropy_chain = {
    .head = {.name = "entropy_chain",
             .summary = "mean entropy of what was drawn from",
             .source = "reference metrics.md"},
    .unit = "nats",
    .conditioning = "a trace; behind the sampler chain, 0 where it was greedy",
    .measure = measure,
};

}  // namespace plm
