// Covers src/kernels/cpu/reference_layers.cpp and simd_layers.cpp.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/every_device.h"

namespace plm {
namespace {

TEST(Layers, RmsNormByHand) {
  // Mean of squares (9 + 16) / 2 = 12.5 and epsilon 3.5: root 4.
  const std::vector<float> out = expect_same_everywhere([](Device& device) {
    const Matrix x = make_matrix(device, 1, 2, {3, 4});
    const std::vector<float> numbers{1, 10};
    const FileWeight file = file_weight(quant_f32, 1, 2, numbers);
    const auto gain = file.load(device, WeightRole::norm);
    device.rms_norm(x.view, *gain, 3.5F, x.view);
    return read(device, x.view);
  });
  EXPECT_EQ(out, (std::vector<float>{0.75F, 10.0F}));
}

TEST(Layers, RmsNormIsWithinRoundingOfTheFormula) {
  for (const std::size_t n : {1U, 15U, 16U, 31U, 64U, 577U}) {
    const std::vector<float> numbers = random_floats(3 * n, 1);
    const FileWeight gain = random_weight(quant_f16, 1, n, 2);
    const std::vector<float> out = expect_same_everywhere([&](Device& device) {
      const Matrix x = make_matrix(device, 3, n, numbers);
      const auto weight = gain.load(device, WeightRole::norm);
      device.rms_norm(x.view, *weight, 1e-5F, x.view);
      return read(device, x.view);
    });
    for (std::size_t r = 0; r < 3; ++r) {
      double squares = 0;
      for (std::size_t i = 0; i < n; ++i) squares += std::pow(double{numbers[r * n + i]}, 2);
      for (std::size_t i = 0; i < n; ++i) {
        const double expected =
            numbers[r * n + i] / std::sqrt(squares / static_cast<double>(n) + 1e-5) * gain.numbers()[i];
        EXPECT_NEAR(out[r * n + i], expected, 1e-6 * std::abs(expected) + 1e-12);
      }
    }
  }
}

TEST(Layers, HadamardByHand) {
  const std::vector<float> out = expect_same_everywhere([](Device& device) {
    const Matrix x = make_matrix(device, 1, 8, {1, 2, 3, 4, 5, 6, 7, 8});
    device.hadamard(x.view, 4);
    return read(device, x.view);
  });
  EXPECT_EQ(out, (std::vector<float>{5, -1, -2, 0, 13, -1, -2, 0}));
}

TEST(Layers, HadamardIsTheMatrixByItsDefinitionAndItsOwnInverse) {
  for (const std::size_t block : {1U, 2U, 8U, 16U, 32U, 64U, 256U}) {
    const std::size_t columns = 2 * block;
    const std::vector<float> numbers = random_floats(3 * columns, 1);
    for (const int times : {1, 2}) {
      SCOPED_TRACE(testing::Message() << block << ", times: " << times);
      const std::vector<float> out = expect_same_everywhere([&](Device& device) {
        const Matrix x = make_matrix(device, 3, columns, numbers);
        for (int i = 0; i < times; ++i) device.hadamard(x.view, block);
        return read(device, x.view);
      });
      for (std::size_t i = 0; i < out.size(); ++i) {
        double expected = numbers[i];
        if (times == 1) {  // entry (i, j) is -1 to the number of ones that i and j share
          const std::size_t first = i / block * block;
          expected = 0;
          for (std::size_t j = 0; j < block; ++j) {
            const bool is_odd = std::popcount((i - first) & j) % 2 == 1;
            expected += (is_odd ? -1.0 : 1.0) * numbers[first + j];
          }
          expected /= std::sqrt(static_cast<double>(block));
        }
        ASSERT_NEAR(out[i], expected, 1e-5) << i;
      }
    }
  }
}

TEST(Layers, RopeByHand) {
  // Pair 0 turns by 90 degrees, pair 1 not at all; the last number of each head is not rotated.
  const std::vector<float> angles{0, 1, 1, 0};
  const auto rotate = [&](RopeLayout layout) {
    return expect_same_everywhere([&](Device& device) {
      const Matrix x = make_matrix(device, 1, 10, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
      const Matrix turns = make_matrix(device, 1, 4, angles);
      device.rope(x.view, 5, turns.view, layout);
      return read(device, x.view);
    });
  };
  EXPECT_EQ(rotate(RopeLayout::interleaved), (std::vector<float>{-2, 1, 3, 4, 5, -7, 6, 8, 9, 10}));
  EXPECT_EQ(rotate(RopeLayout::half_split), (std::vector<float>{-3, 2, 1, 4, 5, -8, 7, 6, 9, 10}));
}

TEST(Layers, RopeTurnsNumbersInTheMiddleOfHeads) {
  // Heads of 5 numbers whose numbers 2 and 3 are a pair: the view begins there and ends with the last pair.
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix x = make_matrix(device, 1, 10, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    const Matrix turns = make_matrix(device, 1, 2, {0, 1});
    device.rope(x.view.column_range(2, 7), 5, turns.view, RopeLayout::interleaved);
    return read(device, x.view);
  });
  EXPECT_EQ(out, (std::vector<float>{1, 2, -4, 3, 5, 6, 7, -9, 8, 10}));
}

TEST(Layers, RopeIsTheSameEverywhere) {
  for (const RopeLayout layout : {RopeLayout::interleaved, RopeLayout::half_split}) {
    for (const std::size_t rotated : {2U, 16U, 20U, 64U}) {
      expect_same_everywhere([&](Device& device) {
        const Matrix x = make_matrix(device, 3, 4 * 70, random_floats(3 * 4 * 70, 1));
        const Matrix angles = make_matrix(device, 3, rotated, random_floats(3 * rotated, 2));
        device.rope(x.view, 70, angles.view, layout);
        return read(device, x.view);
      });
    }
  }
}

TEST(Layers, SigmoidMultiplyAndScale) {
  const std::size_t n = 37;
  const std::vector<float> gate = random_floats(2 * n, 1), up = random_floats(2 * n, 2);
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix g = make_matrix(device, 2, n, gate), u = make_matrix(device, 2, n, up);
    device.gate_multiply(g.view, u.view, Activation::sigmoid, g.view);
    device.scale(g.view, -3);
    return read(device, g.view);
  });
  for (std::size_t i = 0; i < 2 * n; ++i) {
    EXPECT_NEAR(out[i], -3 / (1 + std::exp(-double{gate[i]})) * up[i], 1e-6);
  }
}

TEST(Layers, SiluMultiplyAndAdd) {
  const std::size_t n = 61;
  std::vector<float> gate = random_floats(2 * n, 1);
  for (float& x : gate) x *= 20;
  gate[0] = -200;  // e^200 is infinite: silu is -0
  gate[1] = 200;
  const std::vector<float> up = random_floats(2 * n, 2);
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix g = make_matrix(device, 2, n, gate), u = make_matrix(device, 2, n, up);
    device.gate_multiply(g.view, u.view, Activation::silu, g.view);
    device.add(g.view, u.view);
    return read(device, g.view);
  });
  for (std::size_t i = 0; i < 2 * n; ++i) {
    const double x = gate[i];
    EXPECT_NEAR(out[i], x / (1 + std::exp(-x)) * up[i] + up[i], 4e-6 * std::max(1.0, std::abs(x)));
  }
}

TEST(Layers, EveryActivationMultipliesByItsCurve) {
  const std::size_t n = 333;
  std::vector<float> gate = random_floats(n, 1);
  for (float& x : gate) x *= 8;
  gate[0] = -200;
  gate[1] = 200;
  gate[2] = 0;
  const std::vector<float> up = random_floats(n, 2);
  const std::pair<Activation, double (*)(double)> curves[] = {
      {Activation::silu, [](double x) { return x / (1 + std::exp(-x)); }},
      {Activation::gelu_erf, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {Activation::gelu_tanh,
       [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }}};
  for (const auto& [activation, curve] : curves) {
    const std::vector<float> out = expect_same_everywhere([&, kind = activation](Device& device) {
      const Matrix g = make_matrix(device, 1, n, gate), u = make_matrix(device, 1, n, up);
      device.gate_multiply(g.view, u.view, kind, g.view);
      return read(device, g.view);
    });
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(out[i], curve(gate[i]) * up[i], 1e-6 * std::max(1.0F, std::abs(gate[i]))) << gate[i];
    }
  }
}

TEST(Layers, TheClampedGateHoldsBothInputs) {
  std::vector<float> gate = random_floats(2 * 61, 1), up = random_floats(2 * 61, 2);
  for (float& x : gate) x *= 20;
  for (float& x : up) x *= 20;
  gate[3] = up[5] = std::nanf("");
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix g = make_matrix(device, 2, 61, gate), u = make_matrix(device, 2, 61, up);
    device.gate_multiply(g.view, u.view, Activation::clamped_swiglu, g.view);
    std::vector<float> found = read(device, g.view);
    EXPECT_TRUE(std::isnan(found[3]) && std::isnan(found[5]));
    found[3] = found[5] = 0;
    return found;
  });
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i == 3 || i == 5) continue;
    const double g = std::min(double{gate[i]}, 7.0), u = std::clamp(double{up[i]}, -7.0, 7.0);
    EXPECT_NEAR(out[i], g / (1 + std::exp(-1.702 * g)) * (u + 1), 2e-5);
  }
}

TEST(Layers, CopiesOfViews) {
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix x = make_matrix(device, 2, 4, {1, 2, 3, 4, 5, 6, 7, 8});
    device.copy(x.view.column_range(2, 2), x.view.column_range(0, 2));
    return read(device, x.view);
  });
  EXPECT_EQ(out, (std::vector<float>{1, 2, 1, 2, 5, 6, 5, 6}));
}

TEST(Layers, SoftCapDrawsNumbersIn) {
  std::vector<float> numbers = random_floats(2 * 61, 1);
  for (float& x : numbers) x *= 100;
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix x = make_matrix(device, 2, 61, numbers);
    device.soft_cap(x.view, 30.0F);
    return read(device, x.view);
  });
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_NEAR(out[i], 30 * std::tanh(numbers[i] / 30.0), 6e-6);
}

TEST(Layers, ViewsMayBeColumnsOfWiderRows) {
  const std::vector<float> numbers = random_floats(3 * 40, 1);
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix x = make_matrix(device, 3, 40, numbers);
    device.add(x.view.column_range(0, 17), x.view.column_range(20, 17));
    return read(device, x.view);
  });
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(out[i], i % 40 < 17 ? numbers[i] + numbers[i + 20] : numbers[i]);
  }
}

TEST(Layers, EmbedUnpacksTheRowsOfTheTable) {
  for (const StorageType* type : storage_types()) {
    const FileWeight table = random_weight(*type, 5, 256, 1);
    const std::vector<std::int32_t> ids{4, 0, 4};
    const std::vector<float> out = expect_same_everywhere([&](Device& device) {
      const auto weight = table.load(device, WeightRole::embedding);
      const Matrix x = make_matrix(device, 3, 256);
      device.embed(*weight, ids, x.view);
      return read(device, x.view);
    });
    const std::vector<float> tripled = expect_same_everywhere([&](Device& device) {
      const auto weight = table.load(device, WeightRole::embedding);
      const Matrix x = make_matrix(device, 3, 256);
      device.embed(*weight, ids, x.view, 3);
      return read(device, x.view);
    });
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(tripled[i], out[i] * 3);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto row = static_cast<std::size_t>(ids[i / 256]);
      EXPECT_EQ(out[i], table.numbers()[row * 256 + i % 256]);
    }
  }
}

}  // namespace
}  // namespace plm
