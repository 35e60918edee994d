#include "sampling/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "sampling/golden_cases.h"
#include "sampling/row_scan.h"
#include "sampling/row_weights.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows with ties, masks and every spread, from flat to hundreds of nats.
std::vector<float> random_row(std::mt19937& generator) {
  const std::size_t size = 1 + generator() % 3000;
  const float step = std::array{0.0F, 0.001F, 0.25F, 1.0F, 40.0F}[generator() % 5];
  const bool masks = generator() % 2 == 0;
  std::vector<float> row(size);
  for (float& logit : row) {
    logit = step * static_cast<float>(static_cast<int>(generator() % 64) + static_cast<int>(generator() % 64) - 64);
    if (masks && generator() % 3 == 0) logit = -kInfinity;
  }
  row[generator() % size] = step;  // at least one is not masked
  return row;
}

// The plain way: sort all, add up.
struct Sorted {
  std::vector<Candidate> all;
  std::vector<double> cumulative;  // probability of the first i + 1
};

Sorted fully_sorted(const Candidates& candidates) {
  Sorted sorted{in_canonical_order(candidates), {}};
  double sum = 0;
  for (const Candidate& c : sorted.all) {
    sum += std::exp(static_cast<double>(c.logit) - static_cast<double>(sorted.all[0].logit));
    sorted.cumulative.push_back(sum);
  }
  for (double& c : sorted.cumulative) c /= sum;
  return sorted;
}

void expect_first(const Candidates& kept, const Sorted& sorted, std::size_t count) {
  const auto found = in_canonical_order(kept);
  ASSERT_EQ(found.size(), count);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(found[i].id, sorted.all[i].id) << i;
}

// How many the cut at `mass` keeps; nothing where the sum comes so near that the last bit of an exponential decides.
std::optional<std::size_t> count_at(const Sorted& sorted, double mass) {
  const auto reached = std::lower_bound(sorted.cumulative.begin(), sorted.cumulative.end(), mass);
  const double above = *reached - mass;
  const double below = reached == sorted.cumulative.begin() ? 1 : mass - *(reached - 1);
  if (above < 1e-6 || below < 1e-6) return std::nullopt;
  return static_cast<std::size_t>(reached - sorted.cumulative.begin()) + 1;
}

TEST(Candidates, CutsAgreeWithAFullSort) {
  std::mt19937 generator(7);
  int compared = 0;
  for (int round = 0; round < 150; ++round) {
    const auto row = random_row(generator);
    Candidates candidates;
    ASSERT_TRUE(candidates.reset(row));
    if (round % 3 == 0) candidates.keep_top(1 + generator() % row.size());  // a list instead of the whole
    const Sorted sorted = fully_sorted(candidates);
    const std::size_t size = candidates.size();

    for (const double mass : {0.0, 0.1, 0.5, 0.9, 0.999}) {
      const auto count = count_at(sorted, mass);
      if (!count) continue;
      ++compared;
      EXPECT_EQ(candidates.pick(mass).id, sorted.all[*count - 1].id);
    }
    const std::size_t k = 1 + generator() % size;
    candidates.keep_top(k);
    EXPECT_EQ(candidates.size(), k);
    expect_first(candidates, sorted, std::min(k, sorted.all.size()));
    candidates.keep_top(1);
    expect_first(candidates, sorted, 1);
  }
  EXPECT_GT(compared, 400);
}

TEST(Candidates, MassAndThresholdAgreeWithAFullSort) {
  std::mt19937 generator(8);
  for (int round = 0; round < 150; ++round) {
    const auto row = random_row(generator);
    Candidates candidates;
    ASSERT_TRUE(candidates.reset(row));
    const Sorted sorted = fully_sorted(candidates);
    const double mass = static_cast<double>(generator() % 1000) / 1000.0;
    if (const auto count = count_at(sorted, mass)) {
      candidates.keep_mass(mass, 0);
      expect_first(candidates, sorted, *count);
    }
    ASSERT_TRUE(candidates.reset(row));
    const Candidate& border = sorted.all[generator() % sorted.all.size()];
    const auto kept = std::count_if(row.begin(), row.end(), [&](float logit) { return logit >= border.logit; });
    candidates.keep_at_least(border.logit, 0);
    expect_first(candidates, sorted, static_cast<std::size_t>(kept));
  }
}

TEST(Candidates, MinKeepExtendsACut) {
  const std::vector<float> row = {0, 5, 1, 4, -kInfinity};
  Candidates candidates;
  for (const std::size_t min_keep : {0U, 1U, 3U, 5U, 100U}) {
    const std::size_t expected = std::clamp<std::size_t>(min_keep, 1, row.size());
    ASSERT_TRUE(candidates.reset(row));
    candidates.keep_mass(0.1, min_keep);
    EXPECT_EQ(candidates.size(), expected);
    ASSERT_TRUE(candidates.reset(row));
    candidates.keep_at_least(4.5F, min_keep);
    EXPECT_EQ(candidates.size(), expected);
  }
}

TEST(Candidates, PickReachesBothEnds) {
  const std::vector<float> row = {0, 1, -kInfinity, 2, -30};
  Candidates candidates;
  ASSERT_TRUE(candidates.reset(row));
  EXPECT_EQ(candidates.pick(0.0).id, 3);
  EXPECT_EQ(candidates.pick(0x1.fffffffffffffp-1).id, 4);  // the greatest number below 1
  const auto pick = candidates.pick(0.0);
  const double total = 1 + std::exp(-1.0) + std::exp(-2.0) + std::exp(-32.0);
  EXPECT_NEAR(pick.probability, 1 / total, 1e-7);
  EXPECT_NEAR(pick.log_probability, -std::log(total), 1e-7);
}

TEST(Candidates, DividingKeepsIdsAndMasks) {
  const std::vector<float> row = {1, -kInfinity, 3, 2};
  Candidates candidates;
  ASSERT_TRUE(candidates.reset(row));
  candidates.divide_logits(2);
  EXPECT_EQ(candidates.highest(), 1.5F);
  EXPECT_EQ(candidates.logits()[1], -kInfinity);
  EXPECT_EQ(candidates.support(), 3U);
  candidates.keep_top(2);
  candidates.divide_logits(0.5F);
  EXPECT_EQ(candidates.id(1), 3);
  EXPECT_EQ(candidates.logits()[1], 2.0F);
  EXPECT_EQ(row[2], 3.0F);  // the caller's row stays as it was
}

TEST(Candidates, ResetRefusesWhatIsNoDistribution) {
  Candidates candidates;
  EXPECT_EQ(candidates.reset({}).error().kind, ErrorKind::failed);
  std::vector<float> row(50, 1.0F);
  for (const float bad : {std::nanf(""), kInfinity}) {
    row[33] = bad;
    const auto result = candidates.reset(row);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::failed);
    EXPECT_NE(result.error().message.find("token 33"), std::string::npos) << result.error().message;
  }
  row.assign(50, -kInfinity);
  EXPECT_EQ(candidates.reset(row).error().kind, ErrorKind::unsatisfiable);
}

TEST(Candidates, TopOfAVocabulary) {
  const std::vector<float> row = {1, 2, 2, -kInfinity};
  EXPECT_EQ(top_candidates(row, 2)[0].id, 1);
  EXPECT_EQ(top_candidates(row, 2)[1].id, 2);
  EXPECT_EQ(top_candidates(row, 99).size(), 4U);
}

// Rows long enough that the end of a prefix is guessed first, against full sorts.
TEST(Candidates, PrefixesOfLongRowsAreThoseOfTheFullSort) {
  std::mt19937 generator(12);
  std::normal_distribution<float> normal;
  for (const float spread : {0.0F, 0.3F, 1.0F, 3.0F, 9.0F}) {
    std::vector<float> row(20'000);
    for (float& logit : row) logit = spread * normal(generator);
    for (std::size_t i = 0; i < 5; ++i) row[generator() % row.size()] = 4 * spread + static_cast<float>(i);
    for (const double mass : {0.0, 0.05, 0.5, 0.9, 0.999}) {
      Candidates candidates;
      ASSERT_TRUE(candidates.reset(row));
      const Sorted sorted = fully_sorted(candidates);
      const auto reached = std::lower_bound(sorted.cumulative.begin(), sorted.cumulative.end(), mass);
      candidates.keep_mass(mass, 0);
      const auto expected = static_cast<double>(reached - sorted.cumulative.begin()) + 1;
      // The last bits of the exponentials decide where tokens weigh next to nothing.
      ASSERT_NEAR(static_cast<double>(candidates.size()), expected, 2) << spread << " " << mass;
      expect_first(candidates, sorted, candidates.size());
    }
  }
}

TEST(Candidates, TypicalSetsAreThoseOfTheFullSort) {
  std::mt19937 generator(13);
  std::normal_distribution<float> normal;
  for (const std::size_t size : {5U, 300U, 20'000U}) {
    for (const float spread : {0.3F, 2.0F, 6.0F}) {
      std::vector<float> row(size);
      for (float& logit : row) logit = spread * normal(generator);
      Candidates candidates;
      ASSERT_TRUE(candidates.reset(row));
      const Sorted sorted = fully_sorted(candidates);
      std::vector<std::pair<double, double>> by_distance;  // and probability
      double entropy = 0;
      double total = 0;
      const auto weight = [&](const Candidate& c) { return std::exp(static_cast<double>(c.logit)); };
      for (const Candidate& c : sorted.all) total += weight(c);
      for (const Candidate& c : sorted.all) {
        const double p = weight(c) / total;
        by_distance.emplace_back(0, p);
        entropy -= p * std::log(p);
      }
      for (auto& [distance, p] : by_distance) distance = std::abs(-std::log(p) - entropy);
      std::sort(by_distance.begin(), by_distance.end());
      for (const double mass : {0.1, 0.5, 0.95}) {
        double sum = 0;
        std::size_t expected = 0;
        while (expected < size && sum <= mass) sum += by_distance[expected++].second;
        ASSERT_TRUE(candidates.reset(row));
        candidates.keep_typical(mass, 0);
        ASSERT_NEAR(static_cast<double>(candidates.size()), static_cast<double>(expected), 2) << size << " " << mass;
        ASSERT_TRUE(candidates.reset(row));
        EXPECT_NEAR(candidates.entropy(), entropy, 1e-5 * (1 + entropy));
      }
    }
  }
}

// How many a plain walk through all candidates, the nearest first, keeps; it adds the weights that the candidates
// themselves have. Nothing where the order of adding decides.
std::optional<std::size_t> plain_prefix(std::vector<std::pair<Candidate, float>> order, float center, double target) {
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    const float distance_a = std::abs(center - a.first.logit), distance_b = std::abs(center - b.first.logit);
    return distance_a != distance_b ? distance_a < distance_b : precedes(a.first, b.first);
  });
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sum += static_cast<double>(order[i].second);
    if (std::abs(sum - target) < 1e-11 * (1 + target)) return std::nullopt;
    if (sum > target) return i + 1;
  }
  return std::nullopt;
}

// The short ways (heavy ones, guesses, moved weights) against the plain walk, exactly, again on what was kept.
TEST(Candidates, PrefixesAreExactlyThoseOfThePlainWalk) {
  std::mt19937 generator(14);
  std::normal_distribution<float> normal;
  int compared = 0;
  for (const std::size_t size : {900U, 9'000U, 70'000U}) {
    for (const float spread : {0.5F, 2.5F, 6.0F}) {
      std::vector<float> row(size);
      for (float& logit : row) logit = spread * normal(generator);
      for (std::size_t i = 0; i < size; i += 11) row[i] = std::round(row[i]);  // ties
      row[3] = -kInfinity;
      for (const double mass : {0.02, 0.5, 0.97}) {
        for (const bool is_typical : {false, true}) {
          Candidates candidates;
          ASSERT_TRUE(candidates.reset(row));
          for (int time = 0; time < 2; ++time) {
            const double entropy = candidates.entropy();
            const auto [weights, total] = candidates.weigh();
            std::vector<std::pair<Candidate, float>> all;
            for (std::size_t i = 0; i < candidates.size(); ++i) {
              all.emplace_back(Candidate{candidates.id(i), candidates.logits()[i]}, weights[i]);
            }
            const float center = is_typical ? candidates.highest() + static_cast<float>(std::log(total) - entropy)
                                            : candidates.highest();
            const auto expected = plain_prefix(all, center, mass * total);
            is_typical ? candidates.keep_typical(mass, 0) : candidates.keep_mass(mass, 0);
            if (!expected) continue;
            ++compared;
            EXPECT_EQ(candidates.size(), *expected) << size << " " << spread << " " << mass << " " << is_typical;
            // The weights that moved along are those of the logits that did.
            const auto [moved, moved_total] = candidates.weigh();
            std::vector<float> again(candidates.size());
            const double sum = row_weights(candidates.logits(), candidates.highest(), again.data());
            EXPECT_EQ(moved_total, sum);
            EXPECT_TRUE(std::equal(again.begin(), again.end(), moved.begin()));
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 90);
}

TEST(Candidates, AdjustChangesTokensAndKeepsTheHighestTrue) {
  const std::vector<float> row = {1, 5, -kInfinity, 3};
  Candidates candidates;
  ASSERT_TRUE(candidates.reset(row));
  const std::vector<std::int32_t> ids = {-4, 1, 2, 9};
  ASSERT_TRUE(candidates.adjust(ids, [](std::size_t k, float logit) { return logit - static_cast<float>(4 * k); }));
  EXPECT_EQ(candidates.highest(), 3);
  EXPECT_EQ(candidates.logits()[2], -kInfinity);  // a mask stays one
  candidates.keep_top(2);
  ASSERT_TRUE(candidates.adjust(std::vector<std::int32_t>{0, 1}, [](std::size_t, float) { return 7.0F; }));
  EXPECT_EQ(candidates.highest(), 7);
  EXPECT_EQ(row[1], 5);  // what was given is not written to
  const auto masked =
      candidates.adjust(std::vector<std::int32_t>{0, 1, 3}, [](std::size_t, float) { return -kInfinity; });
  ASSERT_FALSE(masked);
  EXPECT_EQ(masked.error().kind, ErrorKind::unsatisfiable);
}

}  // namespace
}  // namespace plm
