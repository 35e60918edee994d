// repeated_ngrams: share of n-grams that occurred before.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/metric.h"
#include "lab/repetition.h"

namespace plm {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "n",
     .summary = "length of an n-gram",
     .type = ParameterType::integer,
     .standard = std::int64_t{4},
     .min = 1,
     .max = 64,
     .unit = "tokens"},
};

std::optional<double> measure(std::span<const RunRecord> records, const Settings& settings) {
  return mean_over(records, [&](const RunRecord& record) -> std::optional<double> {
    return repeated_ngrams(record.tokens, static_cast<std::size_t>(settings.integer("n")));
  });
}

}  // namespace

extern const Metric metric_repeated_ngrams;
constinit const Metric metric_repeated_ngrams = {
    .head = {.name = "repeated_ngrams",
             .aliases = "rep_n",
             .summary = "share of n-grams that occurred before",
             .source = "arXiv 1908.04319",
             .parameters = kParameters},
    .unit = "share",
    .conditioning = "each text by itself; nothing for fewer than n tokens",
    .measure = measure,
};

}  // namespace plm
