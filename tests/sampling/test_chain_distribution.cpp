// The draws of src/sampling/chain.cpp follow the exact distribution of their chain. That is computed here from the
// samplers' rules alone: whole lists in long double, fully sorted, with nothing of src/sampling but the settings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

using Real = long double;
struct Token {
  int id;
  Real z;
};
using Tokens = std::vector<Token>;

// Sorted by descending logit, then by id.
void sort_tokens(Tokens& tokens) {
  std::sort(tokens.begin(), tokens.end(),
            [](const Token& a, const Token& b) { return a.z != b.z ? a.z > b.z : a.id < b.id; });
}

std::vector<Real> probabilities(const Tokens& tokens) {
  Real highest = -std::numeric_limits<Real>::infinity(), sum = 0;
  for (const Token& token : tokens) highest = std::max(highest, token.z);
  std::vector<Real> p;
  for (const Token& token : tokens) p.push_back(std::exp(token.z - highest));
  for (const Real each : p) sum += each;
  for (Real& each : p) each /= sum;
  return p;
}

Real entropy(const Tokens& tokens) {
  Real sum = 0;
  for (const Real p : probabilities(tokens)) sum -= p > 0 ? p * std::log(p) : 0;
  return sum;
}

// What to do to the list, in words of the datasheet.
using Rule = std::function<void(Tokens&)>;

Rule temperature(Real t) {
  return [t](Tokens& tokens) {
    for (Token& token : tokens) token.z /= t;
  };
}

Rule dynamic_temperature(Real t, Real range) {
  return [=](Tokens& tokens) {
    const Real share = entropy(tokens) / std::log(static_cast<Real>(tokens.size()));
    temperature(std::max<Real>(0, t - range) + (t + range - std::max<Real>(0, t - range)) * share)(tokens);
  };
}

Rule top_k(std::size_t k) {
  return [k](Tokens& tokens) {
    sort_tokens(tokens);
    tokens.resize(std::min(k, tokens.size()));
  };
}

Rule top_p(Real least) {
  return [least](Tokens& tokens) {
    sort_tokens(tokens);
    const auto p = probabilities(tokens);
    Real sum = 0;
    std::size_t count = 0;
    while (count < p.size() && sum < least) sum += p[count++];
    tokens.resize(count);
  };
}

Rule keep_if_probability(const std::function<bool(Real p, Real highest)>& stays) {
  return [stays](Tokens& tokens) {
    const auto p = probabilities(tokens);
    const Real highest = *std::max_element(p.begin(), p.end());
    Tokens kept;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (stays(p[i], highest)) kept.push_back(tokens[i]);
    }
    tokens = kept;
  };
}

Rule typical(Real mass) {
  return [mass](Tokens& tokens) {
    const Real h = entropy(tokens);
    const auto p = probabilities(tokens);
    std::vector<std::pair<Real, std::size_t>> order;
    for (std::size_t i = 0; i < p.size(); ++i) order.emplace_back(std::abs(-std::log(p[i]) - h), i);
    std::sort(order.begin(), order.end());
    Tokens kept;
    Real sum = 0;
    for (const auto& [distance, i] : order) {
      if (sum > mass) break;
      kept.push_back(tokens[i]);
      sum += p[i];
    }
    tokens = kept;
  };
}

Rule top_n_sigma(Real n) {
  return [n](Tokens& tokens) {
    Real mean = 0, squares = 0, highest = tokens[0].z;
    for (const Token& token : tokens) mean += token.z / static_cast<Real>(tokens.size());
    for (const Token& token : tokens) squares += (token.z - mean) * (token.z - mean);
    for (const Token& token : tokens) highest = std::max(highest, token.z);
    const Real least = highest - n * std::sqrt(squares / static_cast<Real>(tokens.size()));
    std::erase_if(tokens, [&](const Token& token) { return token.z < least; });
  };
}

Rule smoothing(Real factor) {
  return [factor](Tokens& tokens) {
    sort_tokens(tokens);
    const Real highest = tokens[0].z;
    for (Token& token : tokens) token.z = highest - factor * (token.z - highest) * (token.z - highest);
  };
}

Rule add(const std::map<int, Real>& biases) {
  return [biases](Tokens& tokens) {
    for (Token& token : tokens) token.z += biases.contains(token.id) ? biases.at(token.id) : 0;
    std::erase_if(tokens, [](const Token& token) { return std::isinf(token.z); });
  };
}

Rule repeat(Real penalty, const std::set<int>& seen) {
  return [=](Tokens& tokens) {
    for (Token& token : tokens) {
      if (seen.contains(token.id)) token.z = token.z > 0 ? token.z / penalty : token.z * penalty;
    }
  };
}

Rule tail_free(Real z) {
  return [z](Tokens& tokens) {
    sort_tokens(tokens);
    const auto p = probabilities(tokens);
    std::vector<Real> bends;
    for (std::size_t i = 0; i + 2 < p.size(); ++i) bends.push_back(std::abs(p[i] - 2 * p[i + 1] + p[i + 2]));
    Real total = 0, sum = 0;
    for (const Real bend : bends) total += bend;
    for (std::size_t i = 0; i < bends.size(); ++i) {
      sum += bends[i] / total;
      if (sum <= z || i == 0) continue;
      tokens.resize(i);
      return;
    }
  };
}

// The first token of a text: the average is still the target.
Rule adaptive(Real target) {
  return [target](Tokens& tokens) {
    const auto p = probabilities(tokens);
    for (std::size_t i = 0; i < p.size(); ++i) {
      const Real x = std::abs(p[i] - target) / 0.3L;
      tokens[i].z = 5 - 10 * x * x / (1 + x);
    }
  };
}

// The first token of a text: mu is twice the target.
Rule mirostat(Real tau) {
  return keep_if_probability([tau](Real p, Real highest) { return -std::log2(p) <= 2 * tau || p == highest; });
}

Rule xtc(Real threshold) {
  return [threshold](Tokens& tokens) {
    sort_tokens(tokens);
    const auto p = probabilities(tokens);
    std::size_t choices = 0;
    while (choices < p.size() && p[choices] >= threshold) ++choices;
    if (choices > 1) tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(choices - 1));
  };
}

std::vector<float> row() {
  std::vector<float> logits(24);
  for (std::uint32_t i = 0; i < logits.size(); ++i) {
    logits[i] = 4 * static_cast<float>(uniform({.seed = 2, .cell = i})) - 1;
  }
  return logits;
}

std::vector<Real> distribution(const std::vector<Rule>& rules) {
  Tokens tokens;
  for (const float z : row()) tokens.push_back({static_cast<int>(tokens.size()), static_cast<Real>(z)});
  for (const Rule& rule : rules) rule(tokens);
  std::vector<Real> by_id(row().size());
  const auto p = probabilities(tokens);
  for (std::size_t i = 0; i < p.size(); ++i) by_id[static_cast<std::size_t>(tokens[i].id)] = p[i];
  return by_id;
}

struct Case {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<Rule> rules;
  std::vector<Rule> otherwise = {};  // with half the probability
};

const std::vector<Case>& cases() {
  const std::set<int> seen = {1, 2, 3};
  static const std::vector<Case> all = {
      {{{"samplers", ""}}, {}},
      {{},
       {top_k(40), top_p(0.95L), keep_if_probability([](Real p, Real most) { return p >= 0.05L * most; }),
        temperature(0.8L)}},
      {{{"samplers", "temperature"}, {"temperature", "1.7"}}, {temperature(1.7L)}},
      {{{"samplers", "top_p;temperature"}, {"top_p", "0.8"}, {"temperature", "2"}}, {top_p(0.8L), temperature(2)}},
      {{{"samplers", "typical_p;temperature"}, {"typical_p", "0.7"}, {"temperature", "1.5"}},
       {typical(0.7L), temperature(1.5L)}},
      {{{"samplers", "min_p;temperature"}, {"min_p", "0.1"}, {"temperature", "1"}, {"dynatemp_range", "0.5"}},
       {keep_if_probability([](Real p, Real most) { return p >= 0.1L * most; }), dynamic_temperature(1, 0.5L)}},
      {{{"samplers", "top_n_sigma"}, {"top_n_sigma", "1.2"}, {"logit_bias", "5=-inf"}},
       {add({{5, -std::numeric_limits<Real>::infinity()}}), top_n_sigma(1.2L)}},
      {{{"samplers", "top_a;smoothing"}, {"top_a", "0.8"}, {"smoothing_factor", "0.3"}},
       {keep_if_probability([](Real p, Real most) { return p >= 0.8L * most * most; }), smoothing(0.3L)}},
      // The history is 1 2 3 1 2: token 3 would continue a repetition of two, the length from which that counts.
      {{{"samplers", "penalties;dry;top_k"}, {"repeat_penalty", "1.3"}, {"dry_multiplier", "1"}, {"top_k", "9"}},
       {repeat(1.3L, seen), add({{3, -1}}), top_k(9)}},
      {{{"samplers", "logit_bias;tfs"}, {"logit_bias", "3=2,0=-4"}, {"tfs", "0.9"}},
       {add({{3, 2}, {0, -4}}), tail_free(0.9L)}},
      {{{"samplers", "top_k;adaptive_p"}, {"top_k", "10"}, {"adaptive_target", "0.3"}}, {top_k(10), adaptive(0.3L)}},
      {{{"samplers", "temperature;mirostat"}, {"mirostat", "2"}, {"mirostat_tau", "1.5"}, {"temperature", "0.8"}},
       {temperature(0.8L), mirostat(1.5L)}},
      {{{"samplers", "xtc;temperature"}, {"xtc_probability", "0.5"}, {"xtc_threshold", "0.05"}, {"temperature", "1.2"}},
       {xtc(0.05L), temperature(1.2L)},
       {temperature(1.2L)}},
  };
  return all;
}

TEST(ChainDistribution, DrawsOfThirteenChainsFollowTheirExactDistribution) {
  const auto logits = row();
  for (const Case& each : cases()) {
    Chain chain = chain_of(each.values);
    SCOPED_TRACE(json_text(chain.describe()));
    auto expected = distribution(each.rules);
    if (!each.otherwise.empty()) {
      const auto other = distribution(each.otherwise);
      for (std::size_t id = 0; id < expected.size(); ++id) expected[id] = (expected[id] + other[id]) / 2;
    }
    chain.begin(std::vector<std::int32_t>{1, 2, 3, 1, 2});
    Candidates workspace;
    std::vector<int> counts(logits.size());
    constexpr int kDraws = 100'000;
    for (std::uint32_t cell = 0; cell < kDraws; ++cell) {
      ++counts[static_cast<std::size_t>(chain.select(logits, {.seed = 20, .cell = cell}, workspace)->id)];
    }
    Real chi_square = 0, freedom = -1;
    for (std::size_t id = 0; id < counts.size(); ++id) {
      if (expected[id] == 0) {
        EXPECT_EQ(counts[id], 0) << "token " << id << " was removed";
        continue;
      }
      const Real mean = expected[id] * kDraws;
      chi_square += (static_cast<Real>(counts[id]) - mean) * (static_cast<Real>(counts[id]) - mean) / mean;
      freedom += 1;
    }
    ASSERT_GE(freedom, 1);
    // Wilson and Hilferty: the cube root of chi-square per degree is nearly normal; 3.3 deviations are one in a
    // thousand.
    const Real spread = 2 / (9 * freedom);
    const Real deviations = (std::cbrt(chi_square / freedom) - (1 - spread)) / std::sqrt(spread);
    EXPECT_LT(deviations, 3.3L) << chi_square << " with " << freedom;
    EXPECT_GT(deviations, -3.3L) << chi_square << " with " << freedom << ": too good";
  }
}

}  // namespace
}  // namespace plm
