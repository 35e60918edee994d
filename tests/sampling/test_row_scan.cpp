#include "sampling/row_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/portable_math.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_row(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> row(size);
  for (float& x : row) x = static_cast<float>(generator() % 8000) / 64.0F - 125.0F;  // -125 to 0
  return row;
}

TEST(RowScan, WeightsEqualTheReferenceToTheBit) {
  for (const std::size_t size : {1U, 7U, 8U, 9U, 63U, 1000U, 4099U}) {
    auto row = random_row(size, static_cast<unsigned>(size));
    row[size / 2] = -kInfinity;
    row[size / 3] = 0.0F;
    std::vector<float> fast(size);
    std::vector<float> plain(size);
    const double fast_sum = row_weights(row, 0.0F, fast.data());
    EXPECT_EQ(fast_sum, row_weights_reference(row, 0.0F, plain.data())) << size;
    EXPECT_EQ(fast, plain) << size;
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(plain[i], exp_f32(row[i]));
      sum += static_cast<double>(plain[i]);
    }
    EXPECT_NEAR(fast_sum, sum, 1e-12 * sum);
  }
}

TEST(RowScan, DistanceSumsEqualTheReferenceToTheBit) {
  for (const std::size_t size : {1U, 7U, 8U, 9U, 1000U, 4099U}) {
    auto row = random_row(size, static_cast<unsigned>(size));
    row[size / 2] = -kInfinity;
    row[size / 3] = 0.0F;
    std::vector<float> weights(size);
    (void)row_weights(row, 0.0F, weights.data());
    const double fast = row_distance_sum(row, 0.0F, weights);
    EXPECT_EQ(fast, row_distance_sum_reference(row, 0.0F, weights)) << size;
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += weights[i] > 0 ? static_cast<double>(weights[i]) * -row[i] : 0.0;
    EXPECT_NEAR(fast, sum, 1e-12 * sum + 1e-300);
  }
}

TEST(RowScan, SplitsEqualTheReferenceToTheBit) {
  for (const std::size_t size : {1U, 8U, 1000U, 4099U}) {
    auto row = random_row(size, static_cast<unsigned>(size));
    row[size / 2] = -kInfinity;
    row[0] = 0.0F;
    std::vector<float> weights(size);
    (void)row_weights(row, 0.0F, weights.data());
    for (const RowBounds bounds : {RowBounds{0, 0, 0}, RowBounds{0, 0.5F, 30}, RowBounds{0, 60, kInfinity}}) {
      std::vector<std::uint32_t> scratch, plain_scratch;
      std::span<std::uint32_t> between, plain_between;
      const double sum = row_split(row, weights, bounds, scratch, between);
      EXPECT_EQ(sum, row_split_reference(row, weights, bounds, plain_scratch, plain_between));
      EXPECT_TRUE(std::equal(between.begin(), between.end(), plain_between.begin(), plain_between.end()));
      for (const std::uint32_t i : between) EXPECT_TRUE(-row[i] >= bounds.near && -row[i] < bounds.far);
    }
  }
}

TEST(RowScan, WeightsOfHugeLogits) {
  const float huge = std::numeric_limits<float>::max();
  const std::vector<float> row = {huge, -huge, 0, -kInfinity, huge, 1, 2, 3, 4};
  std::vector<float> weights(row.size());
  EXPECT_EQ(row_weights(row, huge, weights.data()), 2.0);
  EXPECT_EQ(weights[0], 1.0F);
  EXPECT_EQ(weights[1], 0.0F);
  EXPECT_EQ(weights[3], 0.0F);
}

TEST(RowScan, HighestIsFoundAtEveryPlace) {
  for (std::size_t place = 0; place < 70; ++place) {
    auto row = random_row(70, 1);
    row[place] = 1.5F;
    EXPECT_EQ(row_highest(row).highest, 1.5F) << place;
    EXPECT_TRUE(row_highest(row).is_valid);
    for (const float bad : {kInfinity, std::nanf(""), -std::nanf("")}) {
      row[place] = bad;
      EXPECT_FALSE(row_highest(row).is_valid) << place;
    }
    row[place] = -kInfinity;
    EXPECT_TRUE(row_highest(row).is_valid);
  }
  EXPECT_EQ(row_highest({}).highest, -kInfinity);
}

TEST(RowScan, IndicesAreThoseOfThePlainLoop) {
  std::vector<std::uint32_t> scratch;
  for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 1000U}) {
    const auto row = random_row(size, 5);
    for (const float threshold : {-kInfinity, -130.0F, -60.0F, -0.5F, 0.0F, kInfinity}) {
      std::vector<std::uint32_t> expected;
      for (std::size_t i = 0; i < size; ++i) {
        if (row[i] >= threshold) expected.push_back(static_cast<std::uint32_t>(i));
      }
      const auto found = row_indices_at_least(row, threshold, scratch);
      EXPECT_EQ(std::vector(found.begin(), found.end()), expected) << size << " " << threshold;
    }
  }
}

}  // namespace
}  // namespace plm
