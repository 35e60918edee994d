#include "sampling/mersenne_stream.h"

#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(MersenneStream, GivesTheGoldenNumbers) {
  int cases = 0;
  for (const Json& test_case : golden_cases("dist.json")) {
    if (!test_case.contains("mt19937_u32")) continue;
    ++cases;
    const std::uint32_t seed = test_case["seed"];
    MersenneStream stream;
    const auto words = test_case["mt19937_u32"].get<std::vector<std::uint32_t>>();
    for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(stream.word(seed, i), words[i]) << i;
    double at = 0;
    const MersenneNumbers numbers{stream, at, seed};
    for (const double u : test_case["u53"].get<std::vector<double>>()) EXPECT_EQ(numbers.uniform(), u);
    EXPECT_EQ(at, 16);
    at = 0;
    for (const float u : test_case["u24"].get<std::vector<float>>()) EXPECT_EQ(numbers.uniform_f32(), u);
  }
  EXPECT_EQ(cases, 4);
}

TEST(MersenneStream, AnyWordInAnyOrder) {
  MersenneStream forward, jumping;
  std::vector<std::uint32_t> words;
  for (std::uint64_t i = 0; i < 2000; ++i) words.push_back(forward.word(9, i));
  for (const std::uint64_t i : {1999U, 3U, 4U, 1000U, 999U, 0U}) {
    EXPECT_EQ(jumping.word(9, i), words[i]) << i;
    EXPECT_NE(jumping.word(10, i), words[i]) << i;
  }
}

}  // namespace
}  // namespace plm
