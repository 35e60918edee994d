// oscillating_cells: cells that went back to a token which they had left.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"
#include "lab/page_history.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    if (record.page.states.empty()) return std::nullopt;
    return static_cast<double>(oscillating_cells(record.page));
  });
}

}  // namespace

extern const Metric metric_oscillating_cells;
constinit const Metric metric_oscillating_cells = {
    .head = {.name = "oscillating_cells",
             .summary = "cells that went back to a token which they had left",
             .source = "reference metrics.md"},
    .unit = "cells",
    .conditioning = "pages with their states",
    .measure = measure,
};

}  // namespace plm
