// bits_per_byte: surprise of the text, by its bytes.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/distribution.h"
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    return bits_per_byte(record.log_probabilities, record.text.size());
  });
}

}  // namespace

extern const Metric metric_bits_per_byte;
constinit const Metric metric_bits_per_byte = {
    .head = {.name = "bits_per_byte",
             .summary = "surprise of the text, by its bytes",
             .source = "reference metrics.md"},
    .unit = "bits",
    .conditioning = "log-probabilities before any sampler, and the text; compares models with different tokens",
    .measure = measure,
};

}  // namespace plm
