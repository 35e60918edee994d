// The cases in ../shared/conformance/metrics, for tests of several files.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace plm {

inline std::string metric_cases_path() { return std::string(PLM_SHARED) + "/conformance/metrics/metrics.jsonl"; }

inline std::vector<Json> metric_cases(std::string_view metric) {
  std::vector<Json> cases;
  std::ifstream file(metric_cases_path());
  for (std::string line; std::getline(file, line);) {
    Json one = parse_json(line, "case").value();
    if (one["metric"] == metric) cases.push_back(std::move(one));
  }
  return cases;
}

/// Ids for tokens that may be words: equal ones get equal ids.
class TokenIds {
 public:
  std::vector<std::int32_t> of(const Json& tokens) {
    std::vector<std::int32_t> ids;
    for (const Json& token : tokens) {
      ids.push_back(known_.emplace(token.dump(), static_cast<std::int32_t>(known_.size())).first->second);
    }
    return ids;
  }
  std::vector<std::vector<std::int32_t>> of_all(const Json& texts) {
    std::vector<std::vector<std::int32_t>> all;
    for (const Json& text : texts) all.push_back(of(text));
    return all;
  }

 private:
  std::map<std::string, std::int32_t> known_;
};

/// The numbers of a list; "-inf" is one.
inline std::vector<double> case_numbers(const Json& list) {
  std::vector<double> numbers;
  for (const Json& item : list) {
    numbers.push_back(item.is_number() ? item.get<double>() : -std::numeric_limits<double>::infinity());
  }
  return numbers;
}

/// One number as expected, or nothing where null is.
inline void expect_number(const std::optional<double>& found, const Json& one) {
  const Json& expect = one["expect"];
  if (expect.is_null()) {
    EXPECT_FALSE(found.has_value()) << found.value_or(0);
    return;
  }
  ASSERT_TRUE(found.has_value());
  if (expect.is_string()) {
    EXPECT_TRUE(std::isinf(*found)) << expect;
    return;
  }
  EXPECT_NEAR(*found, expect.get<double>(), one["tol"].get<double>() * std::max(1.0, std::abs(expect.get<double>())));
}

/// Runs `measure(input)` on every case of a metric.
template <typename Measure>
void check_cases(std::string_view metric, const Measure& measure) {
  const auto cases = metric_cases(metric);
  EXPECT_FALSE(cases.empty()) << metric;
  for (const Json& one : cases) {
    SCOPED_TRACE(one["id"]);
    expect_number(measure(one["input"]), one);
  }
}

}  // namespace plm

#define PLM_NEEDS_METRIC_CASES() \
  if (!std::filesystem::exists(::plm::metric_cases_path())) GTEST_SKIP() << "no metric cases"
