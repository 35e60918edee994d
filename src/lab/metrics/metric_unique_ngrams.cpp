// unique_ngrams: different n-grams.
// Tested by tests/lab/test_metrics.cpp.
#include "lab/diversity.h"
#include "lab/metric.h"

namespace plm {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "n",
     .summary = "length of an n-gram",
     .type = ParameterType::integer,
     .standard = std::int64_t{2},
     .min = 1,
     .max = 64,
     .unit = "tokens"},
};

std::optional<double> measure(std::span<const RunRecord> records, const Settings& settings) {
  return static_cast<double>(unique_ngrams(tokens_of(records), static_cast<std::size_t>(settings.integer("n"))));
}

}  // namespace

extern const Metric metric_unique_ngrams;
constinit const Metric metric_unique_ngrams = {
    .head = {.name = "unique_ngrams",
             .summary = "different n-grams",
             .source = "reference metrics.md",
             .parameters = kParameters},
    .unit = "",
    .conditioning = "all texts together",
    .measure = measure,
};

}  // namespace plm
