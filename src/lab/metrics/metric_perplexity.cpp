// perplexity: exp of the mean surprise of the tokens.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/distribution.h"
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(
      records, [&](const RunRecord& record) -> std::optional<double> { return perplexity(record.log_probabilities); });
}

}  // namespace

extern const Metric metric_perplexity;
constinit const Metric metric_perplexity = {
    .head = {.name = "perplexity",
             .summary = "exp of the mean surprise of the tokens",
             .source = "reference metrics.md"},
    .unit = "",
    .conditioning = "log-probabilities before any sampler",
    .measure = measure,
};

}  // namespace plm
