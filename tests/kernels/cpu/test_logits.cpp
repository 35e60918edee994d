#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/every_device.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// max, second, log_sum_exp, entropy, argmax, bad of each row; sums are compared as bits across devices.
std::vector<float> run_statistics(Device& device, std::size_t columns, const std::vector<float>& logits) {
  const Matrix matrix = make_matrix(device, logits.size() / columns, columns, logits);
  std::vector<RowStatistics> rows(matrix.view.rows);
  device.statistics(matrix.view, rows);
  EXPECT_TRUE(device.wait().has_value());
  std::vector<float> flat;
  for (const RowStatistics& r : rows) {
    if (r.bad != 0) {
      flat.insert(flat.end(), {0, 0, 0, 0, 0, 1});  // of a bad row nothing else is said
    } else {
      flat.insert(flat.end(), {r.max, r.second, r.log_sum_exp, r.entropy, static_cast<float>(r.argmax), 0});
    }
  }
  return flat;
}

std::vector<float> statistics(std::size_t columns, const std::vector<float>& logits) {
  return expect_same_everywhere([&](Device& device) { return run_statistics(device, columns, logits); });
}

TEST(Logits, StatisticsByHand) {
  // Probabilities 1/4 and 3/4.
  const std::vector<float> row = statistics(2, {0, std::log(3.0F)});
  EXPECT_FLOAT_EQ(row[0], std::log(3.0F));
  EXPECT_EQ(row[1], 0);
  EXPECT_NEAR(row[2], std::log(4.0), 1e-6);
  EXPECT_NEAR(row[3], 0.5623351446, 1e-6);
  EXPECT_EQ(row[4], 1);
}

TEST(Logits, StatisticsAreWithinRoundingOfTheFormula) {
  for (const std::size_t n : {1U, 2U, 15U, 33U, 257U, 5000U}) {
    std::vector<float> logits = random_floats(n, 1);
    for (float& x : logits) x *= 10;
    if (n > 20) logits[17] = -kInfinity;  // a forbidden token
    const std::vector<float> row = statistics(n, logits);
    double z = 0, weighted = 0;
    for (const float x : logits) z += std::exp(double{x});
    for (const float x : logits) weighted += x > -kInfinity ? std::exp(double{x}) / z * x : 0;
    EXPECT_NEAR(row[2], std::log(z), 1e-5);
    EXPECT_NEAR(row[3], std::log(z) - weighted, 1e-5);
    std::ranges::sort(logits, std::greater());
    EXPECT_EQ(row[0], logits[0]);
    EXPECT_EQ(row[1], n > 1 ? logits[1] : -kInfinity);
  }
}

TEST(Logits, TiesGoToTheSmallestId) {
  for (const std::size_t n : {3U, 40U}) {
    for (std::size_t first = 0; first + 1 < n; ++first) {
      std::vector<float> logits(n, -1.0F);
      logits[first] = logits[n - 1] = 2.0F;
      const std::vector<float> row = statistics(n, logits);
      EXPECT_EQ(row[4], static_cast<float>(first));
      EXPECT_EQ(row[1], 2.0F) << "second largest of a tie";
    }
  }
}

TEST(Logits, NanAndInfinityAreFoundAnywhere) {
  for (const std::size_t n : {5U, 37U}) {
    for (const float poison : {kNan, kInfinity}) {
      std::vector<float> logits((n + 1) * n, 0.5F);  // row r has the poison at place r, the last row has none
      for (std::size_t r = 0; r < n; ++r) logits[r * n + r] = poison;
      const std::vector<float> rows = statistics(n, logits);
      for (std::size_t r = 0; r <= n; ++r) EXPECT_EQ(rows[6 * r + 5], r < n ? 1 : 0) << poison << " at " << r;
    }
  }
  EXPECT_EQ(statistics(3, {-kInfinity, -kInfinity, -kInfinity})[2], -kInfinity) << "everything forbidden is not bad";
}

std::vector<float> top(std::size_t columns, std::size_t n, const std::vector<float>& logits) {
  return expect_same_everywhere([&](Device& device) {
    const Matrix matrix = make_matrix(device, logits.size() / columns, columns, logits);
    std::vector<TokenScore> best(matrix.view.rows * n);
    device.top_n(matrix.view, n, best);
    EXPECT_TRUE(device.wait().has_value());
    std::vector<float> flat;
    for (const TokenScore& score : best) flat.insert(flat.end(), {static_cast<float>(score.id), score.logit});
    return flat;
  });
}

TEST(Logits, TopNIsOrderedByLogitThenId) {
  EXPECT_EQ(top(6, 4, {1, 3, 2, 3, 2, 0}), (std::vector<float>{1, 3, 3, 3, 2, 2, 4, 2}));
  EXPECT_EQ(top(3, 1, {5, 5, 5, 0, 1, 1}), (std::vector<float>{0, 5, 1, 1}));
  EXPECT_EQ(top(2, 2, {-kInfinity, 1}), (std::vector<float>{1, 1, 0, -kInfinity}));
  EXPECT_TRUE(top(3, 0, {1, 2, 3}).empty());
}

TEST(Logits, TopNAgreesWithSortingTheRow) {
  std::vector<float> logits = random_floats(1003, 1);
  for (float& x : logits) x = std::round(x * 50);  // many ties
  std::vector<std::size_t> ids(logits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  std::ranges::sort(ids, {}, [&](std::size_t id) { return std::pair(-logits[id], id); });
  for (const std::size_t n : {1U, 5U, 64U, 1003U}) {
    const std::vector<float> best = top(1003, n, logits);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(best[2 * i], static_cast<float>(ids[i]));
  }
}

}  // namespace
}  // namespace plm
