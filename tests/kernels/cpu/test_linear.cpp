// Matrix products of every storage type: the plain kernels against double precision, the fast ones against the plain
// ones to the bit, and no influence of neighbours, threads or tile shapes.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/device_bench.h"

namespace plm {
namespace {

struct Shape {
  std::size_t outputs, inputs;
};

std::vector<float> product(const StorageType& type, Shape shape, std::size_t rows, CpuDeviceOptions options,
                           bool with_bias = false) {
  DeviceBench bench(options);
  const auto weight =
      bench.weight(type, WeightRole::ffn_up, shape.outputs, random_numbers(shape.outputs * shape.inputs, 1));
  const auto bias = bench.weight(quant_f32, WeightRole::bias, 1, random_numbers(shape.outputs, 2));
  const View in = bench.matrix(rows, shape.inputs, random_numbers(rows * shape.inputs, 3));
  const View out = bench.matrix(rows, shape.outputs);
  bench.device->linear(*weight, in, out, with_bias ? bias.get() : nullptr);
  return bench.read(out);
}

class LinearOfType : public testing::TestWithParam<const StorageType*> {
 protected:
  // Shapes with and without whole panels of 16 outputs and whole parts of 32 inputs, where the type allows them.
  [[nodiscard]] std::vector<Shape> shapes() const {
    if (GetParam()->block_size == 256) return {{16, 256}, {37, 512}};
    if (GetParam()->block_size == 32) return {{16, 32}, {70, 96}, {33, 576}};
    return {{16, 32}, {1, 1}, {70, 97}, {33, 576}};
  }
};

TEST_P(LinearOfType, PlainKernelsAgreeWithDoublePrecision) {
  for (const Shape shape : shapes()) {
    const auto w = rounded_to(*GetParam(), random_numbers(shape.outputs * shape.inputs, 1));
    const auto x = random_numbers(2 * shape.inputs, 3);
    const auto bias = random_numbers(shape.outputs, 2);
    const auto ours = product(*GetParam(), shape, 2, {.threads = 1, .kernels = KernelChoice::reference}, true);
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t o = 0; o < shape.outputs; ++o) {
        double expected = bias[o];
        double size = std::abs(expected);
        for (std::size_t k = 0; k < shape.inputs; ++k) {
          const double term = static_cast<double>(w[o * shape.inputs + k]) * x[r * shape.inputs + k];
          expected += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(ours[r * shape.outputs + o], expected, size * 2e-6) << shape.outputs << "x" << shape.inputs;
      }
    }
  }
}

TEST_P(LinearOfType, FastKernelsEqualThePlainOnes) {
  for (const Shape shape : shapes()) {
    for (const std::size_t rows : {1U, 2U, 3U, 4U, 7U, 30U}) {
      const auto plain = product(*GetParam(), shape, rows, {.threads = 1, .kernels = KernelChoice::reference}, true);
      const auto fast = product(*GetParam(), shape, rows, {.threads = 2}, true);
      if (machine_fuses()) {
        ASSERT_TRUE(same_bits(plain, fast)) << shape.outputs << "x" << shape.inputs << ", rows " << rows;
      }
      for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(plain[i], fast[i], 1e-3);
    }
  }
}

TEST_P(LinearOfType, ARowIsTheSameInAnyCompanyAndWithAnyThreads) {
  const Shape shape = shapes().back();
  const auto together = product(*GetParam(), shape, 200, {.threads = 1});
  for (const int threads : {2, 4}) {
    EXPECT_TRUE(same_bits(product(*GetParam(), shape, 200, {.threads = threads}), together)) << threads;
  }
  const auto few = product(*GetParam(), shape, 1, {.threads = 1});  // the same first row, alone
  EXPECT_TRUE(same_bits(few, {together.begin(), together.begin() + static_cast<std::ptrdiff_t>(shape.outputs)}));
}

INSTANTIATE_TEST_SUITE_P(StorageTypes, LinearOfType, testing::ValuesIn(storage_types().begin(), storage_types().end()),
                         [](const auto& instance) { return std::string(instance.param->name()); });

TEST(Linear, AHandComputedProduct) {
  for (const KernelChoice kernels : {KernelChoice::fast, KernelChoice::reference}) {
    DeviceBench bench(CpuDeviceOptions{.threads = 1, .kernels = kernels});
    const auto weight = bench.weight(quant_f32, WeightRole::head, 2, {1, 2, 3, 4, 5, 6});
    const auto bias = bench.weight(quant_f32, WeightRole::bias, 1, {100, 200});
    const View in = bench.matrix(2, 3, {1, 0, -1, 2, 2, 2});
    const View out = bench.matrix(2, 2);
    bench.device->linear(*weight, in, out, bias.get());
    EXPECT_EQ(bench.read(out), (std::vector<float>{98, 198, 112, 230}));
  }
}

}  // namespace
}  // namespace plm
