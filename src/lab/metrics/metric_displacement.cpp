// displacement: share of steps whose token was not the first choice of the model.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> { return record.displacement(); });
}

}  // namespace

extern const Metric metric_displacement;
constinit const Metric metric_displacement = {
    .head = {.name = "displacement",
             .summary = "share of steps whose token was not the first choice of the model",
             .source = "reference diagnosis.md"},
    .unit = "share",
    .conditioning = "ranks before any sampler",
    .measure = measure,
};

}  // namespace plm
