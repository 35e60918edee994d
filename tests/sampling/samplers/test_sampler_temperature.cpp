#include <gtest/gtest.h>

#include <vector>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(Temperature, AgreesWithTheGoldenCases) { expect_golden("temperature.json", 49); }

TEST(Temperature, ZeroTakesTheLowestIdAmongEquals) {
  Candidates workspace;
  const auto selection =
      chain_of({{"temperature", "0"}}).select(std::vector<float>{1, 3, 3, 2}, DrawPlace{}, workspace);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->id, 1);
  EXPECT_EQ(selection->probability, 1.0);
  EXPECT_EQ(selection->candidates_left, 1U);
}

TEST(Temperature, TooSmallForFloatIsGreedy) {
  const std::vector<float> rows[] = {{1, 3, 2}, {-1000, -1, -10}};
  for (const auto& row : rows) {
    for (const char* temperature : {"1e-40", "1e-300", "4e-39"}) {
      Candidates workspace;
      const auto selection =
          chain_of({{"samplers", "temp"}, {"temp", temperature}}).select(row, DrawPlace{.seed = 3}, workspace);
      ASSERT_TRUE(selection) << temperature;
      EXPECT_EQ(selection->id, 1) << temperature;
      EXPECT_EQ(selection->probability, 1.0) << temperature;
    }
  }
}

TEST(Temperature, RefusesNegativeInfiniteAndNan) {
  for (const char* value : {"-1", "-0.001", "inf", "nan", "1e7", "hot"}) {
    EXPECT_FALSE(Settings(sampling_parameters()).set_text("temperature", value)) << value;
  }
}

}  // namespace
}  // namespace plm
