// length: tokens of a text.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    return static_cast<double>(record.tokens.size());
  });
}

}  // namespace

extern const Metric metric_length;
constinit const Metric metric_length = {
    .head = {.name = "length", .summary = "tokens of a text", .source = "reference metrics.md"},
    .unit = "tokens",
    .conditioning = "the mean over texts",
    .measure = measure,
};

}  // namespace plm
