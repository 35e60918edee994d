// Covers src/kernels/cpu/reference_linear.cpp and simd_linear.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/every_device.h"

namespace plm {
namespace {

struct LinearCase {
  FileWeight weight;
  std::size_t rows;
  std::vector<float> in;    // [rows, weight.inputs]
  std::vector<float> bias;  // [weight.outputs] or empty
};

std::vector<float> run_linear(Device& device, const LinearCase& c) {
  const auto weight = c.weight.load(device, WeightRole::ffn_up);
  const FileWeight bias_file = file_weight(quant_f32, 1, c.bias.size(), c.bias);
  const auto bias = c.bias.empty() ? nullptr : bias_file.load(device, WeightRole::bias);
  const Matrix in = make_matrix(device, c.rows, c.weight.inputs, c.in);
  const Matrix out = make_matrix(device, c.rows, c.weight.outputs);
  device.linear(*weight, in.view, out.view, bias.get());
  return read(device, out.view);
}

LinearCase random_case(const StorageType& type, std::size_t outputs, std::size_t inputs, std::size_t rows) {
  return {random_weight(type, outputs, inputs, 1), rows, random_floats(rows * inputs, 2), {}};
}

TEST(Linear, ByHand) {
  // The sum of a part is rounded before the next part is added: 2^24 + (1 + 1) but not (2^24 + 1) + 1.
  std::vector<float> w(64, 0.0F);
  w[0] = 0x1p24F;
  w[32] = w[33] = 1;
  const LinearCase c{file_weight(quant_f32, 1, 64, w), 1, std::vector<float>(64, 1.0F), {0.5F}};
  EXPECT_EQ(expect_same_everywhere([&](Device& device) { return run_linear(device, c); }),
            std::vector<float>{0x1p24F + 2.0F});
}

TEST(Linear, MultiplyAddIsFused) {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24; the last bit survives only when the product is not rounded.
  const float x = 1 + 0x1p-12F;
  const LinearCase c{file_weight(quant_f32, 1, 2, {-1, x}), 1, {1 + 0x1p-11F, x}, {}};
  CpuDevice reference({.threads = 1, .kernels = KernelChoice::reference});
  EXPECT_EQ(run_linear(reference, c), std::vector<float>{0x1p-24F});
}

TEST(Linear, EveryTypeAndShapeIsTheSameEverywhereAndNearTheExactSum) {
  for (const StorageType* type : storage_types()) {
    for (const std::size_t outputs : {1U, 37U}) {
      for (const std::size_t rows : {1U, 2U, 3U, 4U, 5U, 13U}) {
        LinearCase c = random_case(*type, outputs, 256, rows);
        if (rows == 2) c.bias = random_floats(outputs, 3);
        SCOPED_TRACE(testing::Message() << type->name() << " " << outputs << " outputs, " << rows << " rows");
        const std::vector<float> out = expect_same_everywhere([&](Device& device) { return run_linear(device, c); });
        const std::vector<float> w = c.weight.numbers();
        for (std::size_t i = 0; i < out.size(); ++i) {
          const std::size_t r = i / outputs, o = i % outputs;
          double sum = c.bias.empty() ? 0 : c.bias[o];
          for (std::size_t k = 0; k < 256; ++k) sum += double{c.in[r * 256 + k]} * w[o * 256 + k];
          ASSERT_NEAR(out[i], sum, 2e-5);
        }
      }
    }
  }
}

TEST(Linear, InputsOfPlainTypesNeedNotFillTheirLastPart) {
  for (const StorageType* type : {&quant_f32, &quant_f16, &quant_bf16}) {
    for (const std::size_t inputs : {1U, 31U, 33U, 40U, 300U}) {
      for (const std::size_t rows : {1U, 7U}) {
        const LinearCase c = random_case(*type, 19, inputs, rows);
        expect_same_everywhere([&](Device& device) { return run_linear(device, c); });
      }
    }
  }
}

TEST(Linear, ARowDoesNotDependOnTheOthers) {
  const LinearCase all = random_case(*find_storage_type("q4_1"), 96, 288, 200);
  for_each_fast_device(2, [&](Device& device) {
    const std::vector<float> together = run_linear(device, all);
    for (const std::size_t count : {1U, 2U, 3U, 6U, 8U, 193U}) {
      const std::size_t first = 200 - count;
      const LinearCase some{
          all.weight, count, {all.in.begin() + static_cast<std::ptrdiff_t>(first * 288), all.in.end()}, {}};
      const std::vector<float> expected(together.begin() + static_cast<std::ptrdiff_t>(first * 96), together.end());
      EXPECT_EQ(bits_of(run_linear(device, some)), bits_of(expected)) << device.describe() << ", rows: " << count;
    }
  });
}

TEST(Linear, WeightsAreUnpackedBitForBit) {
  // A unit vector as input reads one column of the weight.
  for (const StorageType* type : storage_types()) {
    const FileWeight weight = random_weight(*type, 48, 256, 5);
    const std::vector<float> numbers = weight.numbers();
    for_each_fast_device(1, [&](Device& device) {
      const auto loaded = weight.load(device, WeightRole::ffn_up);
      std::vector<float> units(256 * 256);
      for (std::size_t k = 0; k < 256; ++k) units[k * 256 + k] = 1;
      const Matrix in = make_matrix(device, 256, 256, units), out = make_matrix(device, 256, 48);
      device.linear(*loaded, in.view, out.view);
      const std::vector<float> columns = read(device, out.view);
      for (std::size_t k = 0; k < 256; ++k) {
        for (std::size_t o = 0; o < 48; ++o) ASSERT_EQ(columns[k * 48 + o], numbers[o * 256 + k]) << type->name();
      }
    });
  }
}

// Three heads of 40 numbers, of which 37 meet a matrix of their own; their 20 outputs are the first of 24.
TEST(Linear, EveryHeadHasItsMatrix) {
  constexpr std::size_t kHeads = 3, kIn = 37, kOut = 20, kRows = 5;
  for (const StorageType* type : {&quant_f32, &quant_bf16}) {
    const FileWeight file = random_weight(*type, kHeads * kOut, kIn, 1);
    const std::vector<float> in = random_floats(kRows * kHeads * 40, 2), w = file.numbers();
    const std::vector<float> out = expect_same_everywhere(
        [&](Device& device) {
          const auto weight = std::move(
              device.load_weight({"w", WeightRole::attention_key, type, kOut, kIn, file.bytes, nullptr, kHeads})
                  .value());
          const Matrix x = make_matrix(device, kRows, kHeads * 40, in), y = make_matrix(device, kRows, kHeads * 24);
          device.head_linear(*weight, x.view, y.view);
          return read(device, y.view);
        },
        Activations::int16);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t row = i / (kHeads * 24), head = i % (kHeads * 24) / 24, o = i % 24;
      double sum = 0;
      for (std::size_t k = 0; o < kOut && k < kIn; ++k) {
        sum += double{w[(head * kOut + o) * kIn + k]} * in[(row * kHeads + head) * 40 + k];
      }
      EXPECT_NEAR(out[i], sum, 1e-5) << i;
    }
  }
}

}  // namespace
}  // namespace plm
