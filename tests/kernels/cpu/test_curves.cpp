// Covers src/kernels/cpu/reference_curves.cpp and simd_curves.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/every_device.h"

namespace plm {
namespace {

TEST(Curves, LayerNormByHand) {
  // Mean 4, mean square of the distances 4, epsilon 5: root 3.
  const auto norm = [](bool has_bias) {
    return expect_same_everywhere([&](Device& device) {
      const Matrix x = make_matrix(device, 1, 2, {2, 6});
      const std::vector<float> gains{3, 30}, biases{1, 2};
      const FileWeight gain_file = file_weight(quant_f32, 1, 2, gains),
                       bias_file = file_weight(quant_f32, 1, 2, biases);
      const auto gain = gain_file.load(device, WeightRole::norm), bias = bias_file.load(device, WeightRole::bias);
      device.layer_norm(x.view, *gain, has_bias ? bias.get() : nullptr, 5.0F, x.view);
      return read(device, x.view);
    });
  };
  const float third = 2.0F / 3.0F;
  EXPECT_EQ(norm(false), (std::vector<float>{-third * 3, third * 30}));
  EXPECT_EQ(norm(true), (std::vector<float>{-third * 3 + 1, third * 30 + 2}));
}

TEST(Curves, LayerNormIsWithinRoundingOfTheFormula) {
  for (const std::size_t n : {1U, 15U, 16U, 31U, 64U, 577U}) {
    std::vector<float> numbers = random_floats(3 * n, 1);
    for (float& x : numbers) x += 5;  // a mean that is worth taking away
    const FileWeight gain = random_weight(quant_f32, 1, n, 2), bias = random_weight(quant_f32, 1, n, 3);
    const std::vector<float> out = expect_same_everywhere([&](Device& device) {
      const Matrix x = make_matrix(device, 3, n, numbers), y = make_matrix(device, 3, n);
      const auto gains = gain.load(device, WeightRole::norm), biases = bias.load(device, WeightRole::bias);
      device.layer_norm(x.view, *gains, biases.get(), 1e-5F, y.view);
      return read(device, y.view);
    });
    for (std::size_t r = 0; r < 3; ++r) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) sum += numbers[r * n + i];
      const double mean = sum / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) squares += std::pow(numbers[r * n + i] - mean, 2);
      const double root = std::sqrt(squares / static_cast<double>(n) + 1e-5);
      for (std::size_t i = 0; i < n; ++i) {
        const double expected = (numbers[r * n + i] - mean) / root * gain.numbers()[i] + bias.numbers()[i];
        EXPECT_NEAR(out[r * n + i], expected, 1e-5);
      }
    }
  }
}

TEST(Curves, EveryCurveIsWithinRoundingOfItsFormula) {
  const std::size_t n = 333;
  std::vector<float> numbers = random_floats(n, 1);
  for (float& x : numbers) x *= 8;
  numbers[0] = -200;  // e^200 is infinite: silu is -0
  numbers[1] = 200;
  numbers[2] = 0;
  const std::pair<Curve, double (*)(double)> curves[] = {
      {Curve::silu, [](double x) { return x / (1 + std::exp(-x)); }},
      {Curve::gelu_erf, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {Curve::gelu_tanh,
       [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {Curve::relu, [](double x) { return std::max(x, 0.0); }},
      {Curve::tanh, [](double x) { return std::tanh(x); }}};
  for (const auto& [curve, formula] : curves) {
    const std::vector<float> out = expect_same_everywhere([&, kind = curve](Device& device) {
      const Matrix x = make_matrix(device, 1, n, numbers);
      device.apply(x.view, kind);
      return read(device, x.view);
    });
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(out[i], formula(numbers[i]), 1e-6 * std::max(1.0F, std::abs(numbers[i]))) << numbers[i];
    }
  }
}

}  // namespace
}  // namespace plm
