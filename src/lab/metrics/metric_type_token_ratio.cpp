// type_token_ratio: different tokens over all, in windows of a length.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/diversity.h"
#include "lab/metric.h"

namespace plm {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "window",
     .summary = "length of a window",
     .type = ParameterType::integer,
     .standard = std::int64_t{50},
     .min = 1,
     .max = 65536,
     .unit = "tokens"},
};

std::optional<double> measure(std::span<const RunRecord> records, const Settings& settings) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    return moving_type_token_ratio(record.tokens, static_cast<std::size_t>(settings.integer("window")));
  });
}

}  // namespace

extern const Metric metric_type_token_ratio;
constinit const Metric metric_type_token_ratio = {
    .head = {.name = "type_token_ratio",
             .aliases = "mattr",
             .summary = "different tokens over all, in windows of a length",
             .source = "reference metrics.md",
             .parameters = kParameters},
    .unit = "share",
    .conditioning = "each text by itself; falls with the length of the window, so that only equal windows compare",
    .measure = measure,
};

}  // namespace plm
