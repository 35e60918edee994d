// repeated_tokens: share of tokens that are among those shortly before them.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"
#include "lab/repetition.h"

namespace plm {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "window",
     .summary = "how far back",
     .type = ParameterType::integer,
     .standard = std::int64_t{128},
     .min = 1,
     .max = 65536,
     .unit = "tokens"},
};

std::optional<double> measure(std::span<const RunRecord> records, const Settings& settings) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    return repeated_tokens(record.tokens, static_cast<std::size_t>(settings.integer("window")));
  });
}

}  // namespace

extern const Metric metric_repeated_tokens;
constinit const Metric metric_repeated_tokens = {
    .head = {.name = "repeated_tokens",
             .aliases = "rep_l",
             .summary = "share of tokens that are among those shortly before them",
             .source = "arXiv 1908.04319",
             .parameters = kParameters},
    .unit = "share",
    .conditioning = "each text by itself",
    .measure = measure,
};

}  // namespace plm
