// Metrics: one file each in lab/metrics/, one number about one text or about several together, with its unit and what
// it is conditioned on. The formulas are in lab/distribution.h, repetition.h, diversity.h and page_history.h.
// Tested by tests/lab/test_metrics.cpp.
#pragma once

#include <optional>
#include <span>

#include "base/definition.h"
#include "base/settings.h"
#include "lab/run_record.h"

namespace plm {

struct Metric {
  Definition head;
  std::string_view unit;          ///< "nats", "share", "tokens"; empty: a plain number
  std::string_view conditioning;  ///< what must be known of a run, and what the number is about
  /// Of all records together; nothing where it is undefined, or the records do not say enough.
  std::optional<double> (*measure)(std::span<const RunRecord> records, const Settings& settings);
};

/// All metrics, sorted by name (generated).
[[nodiscard]] std::span<const Metric* const> metrics();
/// By name or alias, or null.
[[nodiscard]] const Metric* find_metric(std::string_view name);

/// The mean over the records of which the number is known; nothing when there are none.
template <typename Measure>
[[nodiscard]] std::optional<double> mean_over(std::span<const RunRecord> records, const Measure& measure) {
  double sum = 0;
  std::size_t count = 0;
  for (const RunRecord& record : records) {
    const std::optional<double> one = measure(record);
    if (!one.has_value()) continue;
    sum += *one;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

/// The tokens of every record.
[[nodiscard]] std::vector<std::vector<std::int32_t>> tokens_of(std::span<const RunRecord> records);

}  // namespace plm
