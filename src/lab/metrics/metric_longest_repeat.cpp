// longest_repeat: longest span that stands twice.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"
#include "lab/repetition.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    return static_cast<double>(longest_repeat(record.tokens, true));
  });
}

}  // namespace

extern const Metric metric_longest_repeat;
constinit const Metric metric_longest_repeat = {
    .head = {.name = "longest_repeat", .summary = "longest span that stands twice", .source = "reference metrics.md"},
    .unit = "tokens",
    .conditioning = "each text by itself; copies may overlap",
    .measure = measure,
};

}  // namespace plm
