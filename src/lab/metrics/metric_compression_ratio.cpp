// compression_ratio: bytes of the text over bytes that zlib makes of them.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/diversity.h"
#include "lab/metric.h"

namespace plm {
namespace {

std::optional<double> measure(std::span<const RunRecord> records, const Settings& /*settings*/) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    constexpr std::size_t kLeastBytes = 200;
    return record.text.size() < kLeastBytes ? std::nullopt : compression_ratio(record.text);
  });
}

}  // namespace

extern const Metric metric_compression_ratio;
constinit const Metric metric_compression_ratio = {
    .head = {.name = "compression_ratio",
             .summary = "bytes of the text over bytes that zlib makes of them",
             .source = "reference metrics.md"},
    .unit = "",
    .conditioning = "each text by itself; from 200 bytes on",
    .measure = measure,
};

}  // namespace plm
