// tail_loop: tokens at the end that are copies of one span.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"
#include "lab/repetition.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    const auto loop = tail_loop(record.tokens, {});
    return loop.has_value() ? static_cast<double>(loop->cover) : 0.0;
  });
}

}  // namespace

extern const Metric metric_tail_loop;
constinit const Metric metric_tail_loop = {
    .head = {.name = "tail_loop",
             .summary = "tokens at the end that are copies of one span",
             .source = "reference metrics.md"},
    .unit = "tokens",
    .conditioning = "each text by itself; period up to 256, three copies, 48 tokens; 0: there is no loop",
    .measure = measure,
};

}  // namespace plm
