// Tests of src/lab/metric.cpp and the registry in src/lab/metrics.
#include "lab/metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace plm {
namespace {

std::optional<double> measured(std::string_view name, std::span<const RunRecord> records) {
  const Metric* metric = find_metric(name);
  if (metric == nullptr) throw std::runtime_error(std::string(name));
  return metric->measure(records, Settings(metric->head.parameters));
}

RunRecord record_of(std::vector<std::int32_t> tokens) {
  RunRecord record;
  record.tokens = std::move(tokens);
  return record;
}

TEST(Metrics, EveryOneSaysWhatItIsAbout) {
  std::set<std::string_view> names;
  for (const Metric* metric : metrics()) {
    EXPECT_TRUE(names.insert(metric->head.name).second);
    EXPECT_FALSE(metric->conditioning.empty()) << metric->head.name;
    // Of nothing, and of a run of which nothing is known, no number is made up.
    const RunRecord nothing;
    const auto none = metric->measure({}, Settings(metric->head.parameters));
    EXPECT_TRUE(!none.has_value() || *none == 0) << metric->head.name;
    const auto empty = metric->measure(std::span(&nothing, 1), Settings(metric->head.parameters));
    EXPECT_TRUE(!empty.has_value() || std::isfinite(*empty)) << metric->head.name;
  }
}

TEST(Metrics, MeansAreOverTheRecordsThatKnow) {
  std::vector<RunRecord> records = {record_of({1, 2, 3, 4}), record_of({1, 1, 1, 1, 1, 1})};
  records[0].log_probabilities = {-1, -1, -1, -1};
  EXPECT_EQ(measured("length", records), 5);
  EXPECT_EQ(measured("mean_log_probability", records), -1);
  EXPECT_NEAR(*measured("perplexity", records), std::exp(1.0), 1e-12);
  EXPECT_NEAR(*measured("rep_n", records), (0 + 2.0 / 3) / 2, 1e-12);
  EXPECT_FALSE(measured("entropy_raw", records).has_value());
  EXPECT_EQ(measured("unique_ngrams", records), 4);
}

TEST(Metrics, ParametersAreTheirOwn) {
  const Metric* metric = find_metric("distinct_n");
  Settings settings(metric->head.parameters);
  ASSERT_TRUE(settings.set_text("n", "1").has_value());
  const std::vector<RunRecord> records = {record_of({1, 2, 1, 2})};
  EXPECT_EQ(metric->measure(records, settings), 0.5);
  EXPECT_FALSE(settings.set_text("n", "0").has_value());
}

}  // namespace
}  // namespace plm
