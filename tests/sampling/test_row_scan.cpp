#include "sampling/row_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "sampling/row_weights.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_row(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> row(size);
  for (float& x : row) x = static_cast<float>(generator() % 8000) / 64.0F - 125.0F;  // -125 to 0
  return row;
}

TEST(RowScan, SplitsEqualTheReferenceToTheBit) {
  for (const std::size_t size : {1U, 8U, 1000U, 4099U}) {
    auto row = random_row(size, static_cast<unsigned>(size));
    row[size / 2] = -kInfinity;
    row[0] = 0.0F;
    std::vector<float> weights(size);
    (void)row_weights(row, 0.0F, weights.data());
    for (const RowBounds bounds :
         {RowBounds{0, 0, 0}, RowBounds{0, 0.5F, 30}, RowBounds{0, 60, kInfinity}, RowBounds{-50, 5, 8}}) {
      std::vector<std::uint32_t> scratch, plain_scratch;
      std::span<std::uint32_t> between, plain_between;
      const double sum = row_split(row, weights, bounds, scratch, between);
      EXPECT_EQ(sum, row_split_reference(row, weights, bounds, plain_scratch, plain_between));
      EXPECT_TRUE(std::equal(between.begin(), between.end(), plain_between.begin(), plain_between.end()));
      for (const std::uint32_t i : between) {
        const float distance = std::abs(bounds.center - row[i]);
        EXPECT_TRUE(distance >= bounds.near && distance < bounds.far);
      }
    }
  }
}

struct Moved {
  std::vector<float> logits, weights;
  std::vector<std::int32_t> ids;
  bool operator==(const Moved&) const = default;
};

// In place, as candidates are moved that were moved before.
Moved moved_by(RowKept (*keep)(const RowMove&, const RowEnd&), Moved row, const RowEnd& end) {
  const auto [count, highest] = keep({.logits = row.logits,
                                      .ids = row.ids.data(),
                                      .weights = row.weights.data(),
                                      .kept_logits = row.logits.data(),
                                      .kept_ids = row.ids.data()},
                                     end);
  row.logits.resize(count);
  row.weights.resize(count);
  row.ids.resize(count);
  EXPECT_EQ(highest, count == 0 ? -kInfinity : *std::max_element(row.logits.begin(), row.logits.end()));
  return row;
}

TEST(RowScan, KeepsWhatThePlainLoopKeeps) {
  for (const std::size_t size : {1U, 8U, 9U, 1000U, 4099U}) {
    Moved row{.logits = random_row(size, 9), .weights = random_row(size, 10), .ids = {}};
    for (std::size_t i = 0; i < size; ++i) row.ids.push_back(static_cast<std::int32_t>(size - i));
    for (std::size_t i = 0; i < size; i += 5) row.logits[i] = -10.0F - static_cast<float>(i % 2) * 20.0F;  // both sides
    row.logits[size / 2] = -kInfinity;
    for (const RowEnd end : {RowEnd{-20, -10, static_cast<std::int32_t>(size / 2)}, RowEnd{-20, -30, 3},
                             RowEnd{0, -60, 0}, RowEnd{-200, 0, 0}}) {
      const Moved kept = moved_by(row_keep, row, end);
      EXPECT_EQ(kept, moved_by(row_keep_reference, row, end));
      std::size_t expected = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const float x = row.logits[i], distance = std::abs(end.center - x), last = std::abs(end.center - end.logit);
        const bool is_no_later = x > end.logit || (x == end.logit && row.ids[i] <= end.id);
        expected += distance < last || (distance == last && is_no_later) ? 1U : 0U;
      }
      EXPECT_EQ(kept.ids.size(), expected);
    }
    Moved fresh{.logits = std::vector<float>(size), .weights = row.weights, .ids = std::vector<std::int32_t>(size)};
    const RowMove whole{.logits = row.logits,
                        .ids = nullptr,
                        .weights = fresh.weights.data(),
                        .kept_logits = fresh.logits.data(),
                        .kept_ids = fresh.ids.data()};
    const std::size_t count = row_keep(whole, {.center = 0, .logit = -60, .id = 0}).count;
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(fresh.ids[i]);
      EXPECT_EQ(fresh.logits[i], row.logits[at]);
      EXPECT_EQ(fresh.weights[i], row.weights[at]);
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
    EXPECT_EQ(row_place(row, -kInfinity).equal, 1U);
    EXPECT_EQ(row_place(row, -kInfinity).above, 69U);
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

      expected.clear();
      for (std::size_t i = 0; i < size; ++i) {
        if (std::abs(-40.0F - row[i]) < -threshold) expected.push_back(static_cast<std::uint32_t>(i));
      }
      const auto near = row_indices_near(row, -40.0F, -threshold, scratch);
      EXPECT_EQ(std::vector(near.begin(), near.end()), expected) << size << " " << threshold;
    }
  }
}

}  // namespace
}  // namespace plm
