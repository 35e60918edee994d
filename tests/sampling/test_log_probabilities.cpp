#include "sampling/log_probabilities.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(LogProbabilities, AgreeWithLongDouble) {
  for (const char* name : {"desc8", "ninf8", "flat64", "wide1k", "gauss32k", "zipf32k", "peaked32k"}) {
    const auto logits = golden_input(name);
    long double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<long double>(logit));
    const auto log_sum = static_cast<double>(std::log(sum));
    const auto result = LogProbabilities::of(logits);
    ASSERT_TRUE(result) << name;
    for (std::size_t id = 0; id < logits.size(); id += 1 + logits.size() / 50) {
      const double expected = static_cast<double>(logits[id]) - log_sum;
      if (std::isinf(expected)) {
        EXPECT_EQ(result->of_token(static_cast<std::int32_t>(id)), expected);
      } else {
        EXPECT_NEAR(result->of_token(static_cast<std::int32_t>(id)), expected, 1e-7) << name << " " << id;
      }
    }
  }
}

TEST(LogProbabilities, DivergenceByHand) {
  const auto row = [](std::initializer_list<double> probabilities) {
    std::vector<float> logits;
    for (const double p : probabilities) logits.push_back(p > 0 ? static_cast<float>(std::log(p)) + 3 : -kInfinity);
    return logits;
  };
  const std::vector<float> even = row({0.5, 0.5, 0}), uneven = row({0.25, 0.5, 0.25}), narrow = row({1, 0, 0});
  const auto p = LogProbabilities::of(even).value(), q = LogProbabilities::of(uneven).value();
  const auto one = LogProbabilities::of(narrow).value();
  EXPECT_EQ(p.divergence_from(p), 0);
  EXPECT_NEAR(p.divergence_from(q), 0.5 * std::log(2.0), 1e-6);
  EXPECT_NEAR(one.divergence_from(q), std::log(4.0), 1e-6);
  EXPECT_EQ(q.divergence_from(p), std::numeric_limits<double>::infinity());
}

TEST(LogProbabilities, TopIsInCanonicalOrder) {
  const std::vector<float> logits = {1, 3, 3, 2, -kInfinity};
  const auto result = LogProbabilities::of(logits);
  ASSERT_TRUE(result);
  const auto top = result->top(3);
  ASSERT_EQ(top.size(), 3U);
  EXPECT_EQ(top[0].id, 1);
  EXPECT_EQ(top[1].id, 2);
  EXPECT_EQ(top[2].id, 3);
  EXPECT_EQ(top[0].log_probability, top[1].log_probability);
  EXPECT_NEAR(top[1].log_probability - top[2].log_probability, 1.0, 1e-12);
  EXPECT_TRUE(result->top(0).empty());
  EXPECT_EQ(result->top(100).size(), 5U);
  EXPECT_EQ(result->top(100)[4].log_probability, -std::numeric_limits<double>::infinity());
}

TEST(LogProbabilities, HugeLogitsDoNotOverflow) {
  const std::vector<float> logits = {1e38F, 1e38F, -1e38F};
  const auto result = LogProbabilities::of(logits);
  ASSERT_TRUE(result);
  EXPECT_TRUE(std::isfinite(result->of_token(2)));
}

TEST(LogProbabilities, RefuseWhatIsNoDistribution) {
  EXPECT_FALSE(LogProbabilities::of({}));
  EXPECT_FALSE(LogProbabilities::of(std::vector<float>{1, NAN}));
  EXPECT_FALSE(LogProbabilities::of(std::vector<float>{1, kInfinity}));
  EXPECT_EQ(LogProbabilities::of(std::vector<float>{-kInfinity}).error().kind, ErrorKind::unsatisfiable);
}

}  // namespace
}  // namespace plm
