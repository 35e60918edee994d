// entropy_raw: mean entropy of what the model thought, before any sampler.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    if (record.entropies.empty()) return std::nullopt;
    double sum = 0;
    for (const double each : record.entropies) sum += each;
    return sum / static_cast<double>(record.entropies.size());
  });
}

}  // namespace

extern const Metric metric_entropy_raw;
constinit const Metric metric_entropy_raw = {
    .head = {.name = "entropy_raw",
             .summary = "mean entropy of what the model thought, before any sampler",
             .source = "reference metrics.md"},
    .unit = "nats",
    .conditioning = "a trace; the mean over positions, then over texts",
    .measure = measure,
};

}  // namespace plm
