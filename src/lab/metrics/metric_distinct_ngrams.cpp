// distinct_ngrams: different n-grams over all.
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
  return distinct_ngrams(tokens_of(records), static_cast<std::size_t>(settings.integer("n")));
}

}  // namespace

extern const Metric metric_distinct_ngrams;
constinit const Metric metric_distinct_ngrams = {
    .head = {.name = "distinct_ngrams",
             .aliases = "distinct_n",
             .summary = "different n-grams over all",
             .source = "arXiv 1510.03055",
             .parameters = kParameters},
    .unit = "share",
    .conditioning = "all texts together; falls with their number and length",
    .measure = measure,
};

}  // namespace plm
