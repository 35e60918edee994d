// Mixtures of experts on the CPU device. Covers src/kernels/cpu/cpu_experts.cpp, reference_experts.cpp and
// simd_experts.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/every_device.h"

namespace plm {
namespace {

using Scores = RouterRule::Scores;

std::vector<float> route(const RouterRule& rule, std::size_t experts, const std::vector<float>& scores,
                         const std::vector<float>& bias = {}) {
  return expect_same_everywhere([&](Device& device) {
    const std::size_t rows = scores.size() / experts;
    const Matrix in = make_matrix(device, rows, experts, scores);
    const Matrix out = make_matrix(device, rows, 2 * rule.used);
    const FileWeight file = file_weight(quant_f32, 1, bias.size(), bias);
    const auto weight = bias.empty() ? nullptr : file.load(device, WeightRole::bias);
    device.route(in.view, rule, weight.get(), out.view);
    std::vector<float> found = read(device, out.view);
    for (float& x : found) x = std::isnan(x) ? -1 : x;  // which is comparable
    return found;
  });
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(Route, SoftmaxOfAllOfTheChosenOrNormalised) {
  const std::vector<float> scores{0, std::log(2.0F), std::log(4.0F), std::log(1.0F)};  // shares 1, 2, 4, 1 of 8
  expect_near(route({.used = 2}, 4, scores), {2, 1, 4.0 / 8, 2.0 / 8});
  expect_near(route({.used = 2, .is_normalised = true}, 4, scores), {2, 1, 4.0 / 6, 2.0 / 6});
  expect_near(route({.scores = Scores::softmax_of_chosen, .used = 3, .scale = 3}, 4, scores),
              {2, 1, 0, 12.0 / 7, 6.0 / 7, 3.0 / 7});
}

TEST(Route, OfEqualsTheLowerNumberWins) {
  const std::vector<float> found = route({.used = 3}, 5, {1, 2, 2, 1, 2, 0, 0, 0, 0, 0});
  EXPECT_EQ(std::vector<float>(found.begin(), found.begin() + 3), (std::vector<float>{1, 2, 4}));
  EXPECT_EQ(std::vector<float>(found.begin() + 6, found.begin() + 9), (std::vector<float>{0, 1, 2}));
}

TEST(Route, ABiasChoosesButDoesNotWeigh) {
  const double half = 0.5, more = 1 / (1 + std::exp(-1.0));
  expect_near(route({.scores = Scores::sigmoid, .used = 2}, 3, {0, 1, 0}, {0, 0, 5}), {2, 1, half, more});
  expect_near(
      route({.scores = Scores::sigmoid, .used = 2, .is_normalised = true, .scale = 2.5F}, 3, {0, 1, 0}, {0, 0, 5}),
      {2, 1, 2.5 * half / (half + more), 2.5 * more / (half + more)});
}

TEST(Route, OnlyTheBestGroupsAreChosenFrom) {
  // Groups (5, 0), (4, 3), (2, 2): by their best one the first group leads, by their best two the second.
  const std::vector<float> scores{5, 0, 4, 3, 2, 2};
  RouterRule rule{.scores = Scores::softmax_of_chosen, .used = 2, .groups = 3, .used_groups = 1, .group_best = 1};
  const auto chosen = [&] {
    const std::vector<float> found = route(rule, 6, scores);
    return std::vector<float>(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(rule.used));
  };
  EXPECT_EQ(chosen(), (std::vector<float>{0, 1}));
  rule.group_best = 2;
  EXPECT_EQ(chosen(), (std::vector<float>{2, 3}));
  rule.used_groups = 2;
  rule.used = 3;
  EXPECT_EQ(chosen(), (std::vector<float>{0, 2, 3}));
}

TEST(Route, WhatIsNotANumberNeverMakesAnExpertThatIsNotThere) {
  const float nan = std::nanf("");
  for (const Scores scores : {Scores::softmax, Scores::softmax_of_chosen, Scores::sigmoid}) {
    const std::vector<float> found = route({.scores = scores, .used = 3, .groups = 2, .used_groups = 2}, 4,
                                           {nan, nan, nan, nan, 1, nan, 2, -INFINITY});
    for (const std::size_t row : {0U, 1U}) {
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(found[6 * row + i] >= 0 && found[6 * row + i] < 4);
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(found[6 * row + i], found[6 * row + j]);
      }
    }
  }
}

struct Mixture {
  std::size_t experts = 7, hidden = 64, ffn = 32, used = 3;
  Activation activation = Activation::silu;
  const StorageType* type = &quant_f32;
  bool has_biases = false;

  [[nodiscard]] FileWeight weight(std::size_t outputs, std::size_t inputs, std::uint32_t seed) const {
    return random_weight(*type, experts * outputs, inputs, seed);
  }
};

std::unique_ptr<Weight> load(Device& device, const FileWeight& file, WeightRole role, std::size_t count) {
  const std::size_t outputs = file.outputs / count;
  return std::move(
      device.load_weight({"w", role, file.type, outputs, file.inputs, file.bytes, nullptr, count}).value());
}

std::vector<float> run_experts(Device& device, const Mixture& m, const std::vector<float>& x,
                               const std::vector<float>& routing_numbers) {
  const std::size_t rows = x.size() / m.hidden;
  const FileWeight gate_file = m.weight(m.ffn, m.hidden, 1), up_file = m.weight(m.ffn, m.hidden, 2),
                   down_file = m.weight(m.hidden, m.ffn, 3);
  const auto gate = load(device, gate_file, WeightRole::ffn_gate, m.experts);
  const auto up = load(device, up_file, WeightRole::ffn_up, m.experts);
  const auto down = load(device, down_file, WeightRole::ffn_down, m.experts);
  const FileWeight wide_bias = random_weight(quant_f32, m.experts, m.ffn, 4),
                   narrow_bias = random_weight(quant_f32, m.experts, m.hidden, 5);
  const auto gate_bias = load(device, wide_bias, WeightRole::bias, m.experts);
  const auto down_bias = load(device, narrow_bias, WeightRole::bias, m.experts);
  ExpertWeights weights{.gate = gate.get(), .up = up.get(), .down = down.get(), .activation = m.activation};
  if (m.has_biases) {
    weights.gate_bias = weights.up_bias = gate_bias.get();
    weights.down_bias = down_bias.get();
  }
  const Matrix in = make_matrix(device, rows, m.hidden, x), out = make_matrix(device, rows, m.hidden);
  const Matrix routing = make_matrix(device, rows, 2 * m.used, routing_numbers);
  const Matrix sorted = make_matrix(device, rows * m.used, m.hidden), a = make_matrix(device, rows * m.used, m.ffn),
               b = make_matrix(device, rows * m.used, m.ffn);
  device.experts(weights, in.view, routing.view, {sorted.view, a.view, b.view}, out.view);
  return read(device, out.view);
}

// Numbers of distinct experts, then weights.
std::vector<float> some_routing(const Mixture& m, std::size_t rows) {
  std::vector<float> routing;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < m.used; ++i) routing.push_back(static_cast<float>((r * r + 2 * i) % m.experts));
    for (std::size_t i = 0; i < m.used; ++i) routing.push_back(0.25F * static_cast<float>(i + r % 3) - 0.3F);
  }
  return routing;
}

std::vector<double> exact_experts(const Mixture& m, const std::vector<float>& x, const std::vector<float>& routing) {
  const std::vector<float> gate = m.weight(m.ffn, m.hidden, 1).numbers(), up = m.weight(m.ffn, m.hidden, 2).numbers(),
                           down = m.weight(m.hidden, m.ffn, 3).numbers();
  const std::vector<float> wide_bias = random_weight(quant_f32, m.experts, m.ffn, 4).numbers(),
                           narrow_bias = random_weight(quant_f32, m.experts, m.hidden, 5).numbers();
  std::vector<double> out(x.size());
  for (std::size_t r = 0; r < x.size() / m.hidden; ++r) {
    for (std::size_t i = 0; i < m.used; ++i) {
      const auto e = static_cast<std::size_t>(routing[r * 2 * m.used + i]);
      std::vector<double> inner(m.ffn);
      for (std::size_t f = 0; f < m.ffn; ++f) {
        double g = m.has_biases ? wide_bias[e * m.ffn + f] : 0, u = g;
        for (std::size_t k = 0; k < m.hidden; ++k) {
          g += double{gate[(e * m.ffn + f) * m.hidden + k]} * x[r * m.hidden + k];
          u += double{up[(e * m.ffn + f) * m.hidden + k]} * x[r * m.hidden + k];
        }
        if (m.activation == Activation::silu) {
          inner[f] = g / (1 + std::exp(-g)) * u;
        } else {
          g = std::min(g, 7.0);
          inner[f] = g / (1 + std::exp(-1.702 * g)) * (std::clamp(u, -7.0, 7.0) + 1);
        }
      }
      for (std::size_t o = 0; o < m.hidden; ++o) {
        double y = m.has_biases ? narrow_bias[e * m.hidden + o] : 0;
        for (std::size_t f = 0; f < m.ffn; ++f) y += down[(e * m.hidden + o) * m.ffn + f] * inner[f];
        out[r * m.hidden + o] += routing[(2 * r + 1) * m.used + i] * y;
      }
    }
  }
  return out;
}

TEST(Experts, AreTheSameEverywhereAndNearTheExactSum) {
  for (const std::size_t rows : {1U, 2U, 5U, 40U}) {
    for (const bool has_biases : {false, true}) {
      Mixture m;
      m.has_biases = has_biases;
      if (has_biases) m.activation = Activation::clamped_swiglu;
      if (has_biases) m.hidden = 72, m.ffn = 20;  // neither whole panels nor whole parts
      const std::vector<float> x = random_floats(rows * m.hidden, 6), routing = some_routing(m, rows);
      const std::vector<float> found =
          expect_same_everywhere([&](Device& device) { return run_experts(device, m, x, routing); });
      const std::vector<double> exact = exact_experts(m, x, routing);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], exact[i], 3e-4) << rows << " rows, " << i;
    }
  }
}

TEST(Experts, QuantisedWeightsMeetRoundedActivations) {
  for (const char* type : {"q8_0", "q4_k", "mxfp4", "bf16"}) {
    Mixture m{.experts = 5, .hidden = 256, .ffn = 256, .used = 2, .type = find_storage_type(std::string_view(type))};
    std::vector<float> x = random_floats(9 * m.hidden, 6);
    for (float& number : x) number /= 16;  // so that what comes out is near 1
    const std::vector<float> routing = some_routing(m, 9);
    const std::vector<float> found =
        expect_same_everywhere([&](Device& device) { return run_experts(device, m, x, routing); }, Activations::int16);
    const std::vector<double> exact = exact_experts(m, x, routing);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], exact[i], 1e-4) << type << ", " << i;
  }
}

TEST(Experts, ARowGivesTheSameBitsAloneAndInABatch) {
  const Mixture m{.type = find_storage_type("q8_0")};
  const std::vector<float> x = random_floats(30 * m.hidden, 6), routing = some_routing(m, 30);
  for (const Activations activations : {Activations::f32, Activations::int16}) {
    const auto compare = [&](Device& device) {
      const std::vector<float> together = run_experts(device, m, x, routing);
      for (std::size_t r = 0; r < 30; ++r) {
        const std::vector<float> alone = run_experts(device, m, {&x[r * m.hidden], &x[r * m.hidden] + m.hidden},
                                                     {&routing[r * 2 * m.used], &routing[r * 2 * m.used] + 2 * m.used});
        const std::vector<float> expected(&together[r * m.hidden], &together[r * m.hidden] + m.hidden);
        EXPECT_EQ(bits_of(alone), bits_of(expected)) << device.describe() << ", row " << r;
      }
    };
    for_each_fast_device(3, compare, activations);
  }
}

TEST(AddGated, EveryRowWeighsTheBranchForItself) {
  const std::size_t n = 37;
  const std::vector<float> x = random_floats(3 * n, 1), y = random_floats(3 * n, 2), gates{0, 3, -200};
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix a = make_matrix(device, 3, n, x), b = make_matrix(device, 3, n, y);
    const Matrix g = make_matrix(device, 3, 1, gates);
    device.add_gated(a.view, b.view, g.view);
    return read(device, a.view);
  });
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_NEAR(out[i], x[i] + y[i] / (1 + std::exp(-double{gates[i / n]})), 1e-6);
  }
}

}  // namespace
}  // namespace plm
