// What every registered sampler promises, whatever it does: neutral is identity, support never grows, something is
// left, the result is a distribution, equal input gives equal output, no input crashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/json.h"
#include "base/philox.h"
#include "sampling/chain.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Settings in which every parameter of the sampler takes a value that `draw` chooses within its range.
Settings drawn_settings(const SamplerDefinition& definition, std::uint32_t draw) {
  Settings settings(sampling_parameters());
  std::uint32_t cell = 0;
  for (const Parameter& parameter : definition.head.parameters) {
    const double u = uniform({.seed = 99, .cell = cell++, .draw = draw});
    const double low = std::max(parameter.min, -10.0);
    const double high = std::min(parameter.max, draw % 2 == 0 ? 3.0 : 60.0);
    // Now and then an end of the range itself.
    const double value = u < 0.1 ? parameter.min : u > 0.9 ? parameter.max : low + (high - low) * u;
    if (parameter.type == ParameterType::integer) {
      EXPECT_TRUE(settings.set_json(parameter.name, static_cast<std::int64_t>(value))) << parameter.name;
    } else if (parameter.type == ParameterType::real) {
      EXPECT_TRUE(settings.set_json(parameter.name, value)) << parameter.name << " " << value;
    }
  }
  return settings;
}

std::vector<std::vector<float>> rows() {
  std::vector<std::vector<float>> all = {{0.5F},
                                         {-kInfinity, 2, -kInfinity},
                                         std::vector<float>(300, -1.0F),
                                         {3e38F, -3e38F, 0, 1e30F},
                                         {-3e38F, -3.1e38F},
                                         {1e-45F, 0, -1e-45F}};
  std::vector<float> bumpy(2000);
  for (std::uint32_t i = 0; i < bumpy.size(); ++i) {
    bumpy[i] = i % 7 == 3 ? -kInfinity : std::round(40 * static_cast<float>(uniform({.seed = 5, .cell = i}))) / 4;
  }
  all.push_back(bumpy);
  return all;
}

std::vector<Candidate> listed(const Candidates& candidates) {
  std::vector<Candidate> list;
  for (std::size_t i = 0; i < candidates.size(); ++i) list.push_back({candidates.id(i), candidates.logits()[i]});
  std::sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  return list;
}

void expect_equal(const std::vector<Candidate>& a, const std::vector<Candidate>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].id, b[i].id);
    ASSERT_EQ(a[i].logit, b[i].logit);
  }
}

// Tokens that repeat each other, some of them beyond the vocabulary of a small row.
const History& past() {
  static const History history{{0, 1, 2, 0, 1, 2, 0, 1, 7, 299, 1999, 7, 299}, 5};
  return history;
}

std::vector<Candidate> applied(const SamplerDefinition& definition, const Settings& settings,
                               std::span<const float> row, std::uint32_t cell) {
  const auto sampler = definition.create(settings, unknown_texts()).value();
  const auto initial = sampler->initial_state();
  std::vector<double> state(initial.begin(), initial.end());
  Candidates candidates;
  EXPECT_TRUE(candidates.reset(row));
  const auto result =
      sampler->apply(candidates, {.place = {.seed = 4, .cell = cell}, .history = past(), .state = state});
  EXPECT_TRUE(result) << result.error().message;
  const auto list = listed(candidates);
  float highest = -kInfinity;
  for (const Candidate& candidate : list) highest = std::max(highest, candidate.logit);
  EXPECT_EQ(highest, candidates.highest());
  return list;
}

class EverySampler : public testing::TestWithParam<const SamplerDefinition*> {};

TEST_P(EverySampler, IsDescribed) {
  const Definition& head = GetParam()->head;
  EXPECT_FALSE(head.name.empty());
  EXPECT_FALSE(head.summary.empty());
  EXPECT_FALSE(head.source.empty());
  for (const Parameter& parameter : head.parameters) {
    EXPECT_FALSE(parameter.summary.empty()) << parameter.name;
    EXPECT_FALSE(std::holds_alternative<std::monostate>(parameter.standard)) << parameter.name;
  }
}

TEST_P(EverySampler, NeutralIsIdentity) {
  Settings settings(sampling_parameters());
  bool has_neutral = false;
  for (const Parameter& parameter : GetParam()->head.parameters) {
    if (std::holds_alternative<std::monostate>(parameter.neutral)) continue;
    has_neutral = true;
    ASSERT_TRUE(settings.set_text(parameter.name, value_text(parameter.neutral)));
  }
  if (!has_neutral) GTEST_SKIP() << "has no neutral value";
  EXPECT_TRUE(GetParam()->create(settings, unknown_texts()).value()->is_neutral());
  for (const auto& row : rows()) {
    Candidates whole;
    ASSERT_TRUE(whole.reset(row));
    expect_equal(applied(*GetParam(), settings, row, 0), listed(whole));
  }
}

TEST_P(EverySampler, OnlyNarrowsAndLeavesADistribution) {
  for (std::uint32_t draw = 0; draw < 60; ++draw) {
    const Settings settings = drawn_settings(*GetParam(), draw);
    SCOPED_TRACE(json_text(settings.as_json()));
    for (const auto& row : rows()) {
      const auto list = applied(*GetParam(), settings, row, draw);
      ASSERT_FALSE(list.empty());
      float highest = -kInfinity;
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto id = static_cast<std::size_t>(list[i].id);
        ASSERT_LT(id, row.size());
        ASSERT_TRUE(i == 0 || list[i - 1].id < list[i].id) << "token " << id << " twice";
        ASSERT_TRUE(row[id] > -kInfinity || list[i].logit == -kInfinity) << "masked token " << id << " came back";
        ASSERT_TRUE(list[i].logit < kInfinity) << "token " << id;  // false for NaN
        highest = std::max(highest, list[i].logit);
      }
      ASSERT_GT(highest, -kInfinity);
      expect_equal(applied(*GetParam(), settings, row, draw), list);  // deterministic
    }
  }
}

TEST_P(EverySampler, TellsTheTruthAboutTheBest) {
  for (std::uint32_t draw = 0; draw < 60; ++draw) {
    const Settings settings = drawn_settings(*GetParam(), draw);
    const EffectOnBest effect = GetParam()->create(settings, unknown_texts()).value()->effect_on_best();
    if (effect == EffectOnBest::may_change) continue;
    for (const auto& row : rows()) {
      const Candidate best = top_candidates(row, 1).front();
      const auto list = applied(*GetParam(), settings, row, draw);
      EXPECT_EQ(std::min_element(list.begin(), list.end(), precedes)->id, best.id);
      EXPECT_TRUE(effect == EffectOnBest::kept || list.size() == 1);
    }
  }
}

TEST_P(EverySampler, ProbabilitiesOfTheSupportAddUpToOne) {
  for (std::uint32_t draw = 0; draw < 20; ++draw) {
    const auto sampler = GetParam()->create(drawn_settings(*GetParam(), draw), unknown_texts()).value();
    const auto initial = sampler->initial_state();
    for (const auto& row : rows()) {
      std::vector<double> state(initial.begin(), initial.end());
      Candidates candidates;
      ASSERT_TRUE(candidates.reset(row));
      ASSERT_TRUE(sampler->apply(candidates, {.place = {}, .history = past(), .state = state}));
      std::set<std::int32_t> seen;
      double sum = 0;
      for (std::uint32_t cell = 0; cell < 200; ++cell) {
        const auto pick = candidates.pick(uniform({.seed = 6, .cell = cell}));
        ASSERT_GT(pick.probability, 0);
        if (seen.insert(pick.id).second) sum += pick.probability;
      }
      EXPECT_LE(seen.size(), candidates.support());
      EXPECT_LE(sum, 1.0 + 1e-6);
      EXPECT_TRUE(seen.size() < candidates.support() || sum > 1.0 - 1e-6) << sum;
    }
  }
}

TEST_P(EverySampler, AChainOfItRefusesBadRows) {
  Settings settings(sampling_parameters());
  ASSERT_TRUE(settings.set_text("samplers", GetParam()->head.name));
  Chain chain = Chain::create(settings).value();
  Candidates workspace;
  EXPECT_FALSE(chain.select({}, {}, workspace));
  EXPECT_FALSE(chain.select(std::vector<float>{1, std::nanf(""), 2}, {}, workspace));
  EXPECT_FALSE(chain.select(std::vector<float>{1, kInfinity}, {}, workspace));
  const auto masked = chain.select(std::vector<float>{-kInfinity, -kInfinity}, {}, workspace);
  ASSERT_FALSE(masked);
  EXPECT_EQ(masked.error().kind, ErrorKind::unsatisfiable);
}

INSTANTIATE_TEST_SUITE_P(Samplers, EverySampler, testing::ValuesIn(samplers().begin(), samplers().end()),
                         [](const auto& sampler) { return std::string(sampler.param->head.name); });

}  // namespace
}  // namespace plm
