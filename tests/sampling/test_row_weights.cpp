#include "sampling/row_weights.h"

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

TEST(RowWeights, WeightsEqualTheReferenceToTheBit) {
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

TEST(RowWeights, DistanceSumsEqualTheReferenceToTheBit) {
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

TEST(RowWeights, MassEqualsTheReferenceAndTheTwoPassesToTheBit) {
  for (const std::size_t size : {1U, 7U, 8U, 9U, 1000U, 4099U}) {
    auto row = random_row(size, static_cast<unsigned>(size));
    row[size / 2] = -kInfinity;
    row[size / 3] = 0.0F;
    std::vector<float> weights(size);
    const double sum = row_weights(row, 0.0F, weights.data());
    const RowMass mass = row_mass(row, 0.0F);
    EXPECT_EQ(mass, row_mass_reference(row, 0.0F)) << size;
    EXPECT_EQ(mass, (RowMass{sum, row_distance_sum(row, 0.0F, weights)})) << size;
  }
}

TEST(RowWeights, SumsEqualThoseOfTheWeightsToTheBit) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 1000U, 4099U}) {
    const auto row = random_row(size, 3);
    std::vector<float> weights(size);
    const double sum = row_weights(row, 0.0F, weights.data());
    EXPECT_EQ(row_sum(weights), sum);
    EXPECT_EQ(row_sum_reference(weights), sum);
  }
}

TEST(RowWeights, ExponentialsAtTheEdgeOfFloatEqualTheReferenceToTheBit) {
  std::vector<float> row;
  float x = -87.4F;
  while (x < -87.3F) row.push_back(x = std::nextafter(x, 0.0F));
  for (float y = -0.0F; y > -90.0F; y -= 0.001F) row.push_back(y);
  std::vector<float> fast(row.size()), plain(row.size());
  EXPECT_EQ(row_weights(row, 0.0F, fast.data()), row_weights_reference(row, 0.0F, plain.data()));
  EXPECT_EQ(fast, plain);
}

}  // namespace
}  // namespace plm
