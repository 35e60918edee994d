// flip_rate: decided tokens that changed later, over all decisions.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"
#include "lab/page_history.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> { return flip_rate(record.page); });
}

}  // namespace

extern const Metric metric_flip_rate;
constinit const Metric metric_flip_rate = {
    .head = {.name = "flip_rate",
             .summary = "decided tokens that changed later, over all decisions",
             .source = "reference metrics.md"},
    .unit = "share",
    .conditioning = "pages with their states",
    .measure = measure,
};

}  // namespace plm
