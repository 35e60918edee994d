// Reading logits: statistics against double precision, the largest n with their ties, and numbers that are none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/device_bench.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<RowStatistics> statistics_of(const std::vector<float>& logits, std::size_t rows, CpuDeviceOptions options) {
  DeviceBench bench(options);
  const View view = bench.matrix(rows, logits.size() / rows, logits);
  std::vector<RowStatistics> statistics(rows);
  bench.device->statistics(view, statistics);
  EXPECT_TRUE(bench.device->wait().has_value());
  return statistics;
}

std::vector<TokenScore> top_of(const std::vector<float>& logits, std::size_t n, CpuDeviceOptions options) {
  DeviceBench bench(options);
  const View view = bench.matrix(1, logits.size(), logits);
  std::vector<TokenScore> top(n);
  bench.device->top_n(view, n, top);
  EXPECT_TRUE(bench.device->wait().has_value());
  return top;
}

const CpuDeviceOptions kPlain = {.threads = 1, .kernels = KernelChoice::reference};
const CpuDeviceOptions kFast = {.threads = 2};

TEST(Logits, StatisticsAgreeWithDoublePrecision) {
  for (const std::size_t vocabulary : {1U, 2U, 17U, 320U, 5000U}) {
    const auto logits = random_numbers(3 * vocabulary, 11, 4.0F);
    for (const auto& options : {kPlain, kFast}) {
      const auto statistics = statistics_of(logits, 3, options);
      for (std::size_t r = 0; r < 3; ++r) {
        const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(r * vocabulary);
        const auto end = begin + static_cast<std::ptrdiff_t>(vocabulary);
        const auto best = std::max_element(begin, end);
        double sum = 0;
        for (auto it = begin; it != end; ++it) sum += std::exp(static_cast<double>(*it));
        double entropy = 0;
        for (auto it = begin; it != end; ++it) {
          const double p = std::exp(static_cast<double>(*it)) / sum;
          entropy -= p * std::log(p);
        }
        EXPECT_EQ(statistics[r].argmax, best - begin);
        EXPECT_EQ(statistics[r].max, *best);
        EXPECT_NEAR(statistics[r].log_sum_exp, std::log(sum), 1e-5);
        EXPECT_NEAR(statistics[r].entropy, entropy, 1e-4);
        EXPECT_EQ(statistics[r].bad, 0);
      }
    }
  }
}

TEST(Logits, FastStatisticsEqualThePlainOnes) {
  const auto logits = random_numbers(2 * 3001, 12, 4.0F);
  const auto plain = statistics_of(logits, 2, kPlain);
  for (const int threads : {1, 2, 4}) {
    const auto fast = statistics_of(logits, 2, {.threads = threads});
    for (std::size_t r = 0; r < 2 && machine_fuses(); ++r) {
      EXPECT_EQ(fast[r].log_sum_exp, plain[r].log_sum_exp);
      EXPECT_EQ(fast[r].entropy, plain[r].entropy);
      EXPECT_EQ(fast[r].second, plain[r].second);
      EXPECT_EQ(fast[r].argmax, plain[r].argmax);
    }
  }
}

TEST(Logits, TiesGoToTheSmallerId) {
  const std::vector<float> logits = {1, 7, 3, 7, -kInfinity, 7, 2};
  for (const auto& options : {kPlain, kFast}) {
    const auto statistics = statistics_of(logits, 1, options).front();
    EXPECT_EQ(statistics.argmax, 1);
    EXPECT_EQ(statistics.second, 7);
    const auto top = top_of(logits, 5, options);
    std::vector<int> ids;
    for (const TokenScore& token : top) ids.push_back(token.id);
    EXPECT_EQ(ids, (std::vector<int>{1, 3, 5, 2, 6}));
  }
}

TEST(Logits, TopEqualsAFullSort) {
  auto logits = random_numbers(4000, 13);
  for (float& logit : logits) logit = std::round(logit * 8) / 8;  // many ties
  std::vector<std::int32_t> ids(logits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  for (const auto& options : {kPlain, kFast}) {
    for (const std::size_t n : {1U, 20U, 4000U}) {
      const auto top = top_of(logits, n, options);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(top[i].id, ids[i]) << n << " " << i;
    }
  }
}

TEST(Logits, NumbersThatAreNoneAreSaid) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
    auto logits = random_numbers(100, 14);
    logits[77] = bad;
    EXPECT_EQ(statistics_of(logits, 1, kPlain).front().bad, 1);
    EXPECT_EQ(statistics_of(logits, 1, kFast).front().bad, 1);
  }
}

}  // namespace
}  // namespace plm
