// Covers src/kernels/cpu/reference_integer_linear.cpp, simd_integer_linear.cpp and, where it can run, vnni_linear.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/every_device.h"
#include "kernels/integer_products.h"

namespace plm {
namespace {

std::vector<float> run(Device& device, const IntegerCase& c) {
  const auto weight = c.weight.load(device, WeightRole::ffn_up);
  const FileWeight bias_file = file_weight(quant_f32, 1, c.bias.size(), c.bias);
  const auto bias = c.bias.empty() ? nullptr : bias_file.load(device, WeightRole::bias);
  const Matrix in = make_matrix(device, c.rows, c.weight.inputs, c.in);
  const Matrix out = make_matrix(device, c.rows, c.weight.outputs);
  device.linear(*weight, in.view, out.view, bias.get());
  return read(device, out.view);
}

TEST(IntegerLinear, ByHand) {
  // q8_0 with scale 1: levels are the weights. The largest input of the part becomes 32639 = 127 * 256 + 127.
  std::vector<float> w(32, 0.0F), x(32, 0.0F);
  w[0] = 127, w[1] = -127, w[2] = 1, w[31] = 2;
  x[0] = 1, x[1] = 0.5F, x[2] = -1, x[31] = 0.25F;
  const auto levels = [](double number) { return std::nearbyint(number * 32639); };
  const double sum = 127 * levels(1) - 127 * levels(0.5) + levels(-1) + 2 * levels(0.25);
  const IntegerCase c{file_weight(*find_storage_type("q8_0"), 1, 32, w), 1, x, {0.5F}};
  const std::vector<float> out =
      expect_same_everywhere([&](Device& device) { return run(device, c); }, Activations::int16);
  EXPECT_EQ(out[0], std::fma(static_cast<float>(sum), 1.0F / 32639.0F, 0.0F) + 0.5F);
}

TEST(IntegerLinear, EveryTypeAndShapeIsTheSameEverywhereAndNearTheExactSum) {
  for (const StorageType* type : quantised_types()) {
    for (const auto& [activations, bound] : {std::pair{Activations::int16, 3e-4}, std::pair{Activations::int8, 6e-2}}) {
      for (const std::size_t outputs : {1U, 37U}) {
        for (const std::size_t rows : {1U, 2U, 5U, 13U}) {
          IntegerCase c = integer_case(*type, outputs, 256, rows);
          if (rows == 2) c.bias = random_floats(outputs, 3);
          SCOPED_TRACE(testing::Message() << type->name() << " " << outputs << " outputs, " << rows << " rows");
          const std::vector<float> out =
              expect_same_everywhere([&](Device& device) { return run(device, c); }, activations);
          const std::vector<double> exact = exact_products(c);
          double squares = 0;
          for (std::size_t i = 0; i < out.size(); ++i) squares += (out[i] - exact[i]) * (out[i] - exact[i]);
          EXPECT_LE(std::sqrt(squares / static_cast<double>(out.size())), bound);
        }
      }
    }
  }
}

TEST(IntegerLinear, ARowDoesNotDependOnTheOthers) {
  const std::size_t inputs = 288;
  const IntegerCase all = integer_case(*find_storage_type("q4_1"), 96, inputs, 200);
  const auto compare = [&](Device& device) {
    const std::vector<float> together = run(device, all);
    for (const std::size_t count : {1U, 2U, 3U, 6U, 8U, 193U}) {
      const std::size_t first = 200 - count;
      const IntegerCase some{
          all.weight, count, {all.in.begin() + static_cast<std::ptrdiff_t>(first * inputs), all.in.end()}, {}};
      const std::vector<float> expected(together.begin() + static_cast<std::ptrdiff_t>(first * 96), together.end());
      EXPECT_EQ(bits_of(run(device, some)), bits_of(expected)) << device.describe() << ", rows: " << count;
    }
  };
  for_each_fast_device(2, compare, Activations::int16);
}

TEST(IntegerLinear, LargestLevelsDoNotOverflow) {
  // Every product is the largest there is: 32 * 127 * 32639 = 132,645,... stays below 2^31, and so do both planes.
  for (const float sign : {1.0F, -1.0F}) {
    const IntegerCase c{file_weight(*find_storage_type("q8_0"), 16, 64, std::vector<float>(16 * 64, 127.0F)),
                        3,
                        std::vector<float>(3 * 64, sign * 3.0F),
                        {}};
    const std::vector<float> out =
        expect_same_everywhere([&](Device& device) { return run(device, c); }, Activations::int16);
    for (const float sum : out) EXPECT_NEAR(sum, sign * 64 * 127 * 3.0, 0.01);
  }
}

TEST(IntegerLinear, NumbersOfNoUseSpoilTheirOwnRowOnly) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    IntegerCase c = integer_case(*find_storage_type("q4_k"), 32, 256, 3);
    c.in[256 + 100] = bad;
    const auto check = [&](Device& device) {
      const std::vector<float> out = run(device, c);
      for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 32 == 1) << device.describe();
    };
    for_each_fast_device(1, check, Activations::int16);
    CpuDevice reference({.threads = 1, .kernels = KernelChoice::reference});
    check(reference);
  }
}

TEST(IntegerLinear, TinyNumbersRoundToZero) {
  IntegerCase c = integer_case(*find_storage_type("q4_0"), 16, 64, 1);
  std::fill_n(c.in.begin(), 32, 1e-31F);
  std::fill_n(c.in.begin() + 32, 32, 0.0F);
  EXPECT_EQ(expect_same_everywhere([&](Device& device) { return run(device, c); }, Activations::int16),
            std::vector<float>(16, 0.0F));
}

}  // namespace
}  // namespace plm
