// mean_log_probability: mean log-probability of the tokens.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records,
                   [&](const RunRecord& record) -> std::optional<double> { return record.mean_log_probability(); });
}

}  // namespace

extern const Metric metric_mean_log_probability;
constinit const Metric metric_mean_log_probability = {
    .head = {.name = "mean_log_probability",
             .summary = "mean log-probability of the tokens",
             .source = "reference metrics.md"},
    .unit = "nats",
    .conditioning = "log-probabilities before any sampler",
    .measure = measure,
};

}  // namespace plm
