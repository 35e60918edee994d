// Norm, rotation, activation and the moving of rows: by hand, against double precision, and fast against plain to the
// bit.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/portable_math.h"
#include "kernels/device_bench.h"

namespace plm {
namespace {

using Operation = std::function<std::vector<float>(DeviceBench& bench)>;

// Runs the operation on the plain kernels, checks that the fast ones agree with any number of threads, returns the
// result.
std::vector<float> on_all_kernels(const Operation& operation) {
  DeviceBench plain(CpuDeviceOptions{.threads = 1, .kernels = KernelChoice::reference});
  const auto expected = operation(plain);
  for (const int threads : {1, 2, 4}) {
    DeviceBench fast(CpuDeviceOptions{.threads = threads});
    const auto result = operation(fast);
    if (machine_fuses()) {
      EXPECT_TRUE(same_bits(result, expected)) << threads << " threads";
    }
  }
  return expected;
}

TEST(Layers, RmsNormAgreesWithDoublePrecision) {
  for (const std::size_t size : {1U, 15U, 16U, 100U, 576U}) {
    const auto x = random_numbers(3 * size, 1, 3.0F);
    const auto gain = random_numbers(size, 2);
    const auto ours = on_all_kernels([&](DeviceBench& bench) {
      const auto weight = bench.weight(quant_f32, WeightRole::norm, 1, gain);
      const View in = bench.matrix(3, size, x);
      bench.device->rms_norm(in, *weight, 1e-5F, in);
      return bench.read(in);
    });
    for (std::size_t r = 0; r < 3; ++r) {
      double squares = 0;
      for (std::size_t i = 0; i < size; ++i) squares += std::pow(x[r * size + i], 2);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-5);
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_NEAR(ours[r * size + i], x[r * size + i] * scale * gain[i], 1e-5) << size;
      }
    }
  }
}

TEST(Layers, RopeRotatesOnePairByHand) {
  const float quarter_turn[] = {0.0F, 1.0F};  // cosine, sine: (1, 2) becomes (-2, 1)
  for (const RopeLayout layout : {RopeLayout::interleaved, RopeLayout::half_split}) {
    const auto result = on_all_kernels([&](DeviceBench& bench) {
      const View x = bench.matrix(1, 8, {1, 2, 3, 4, 1, 2, 3, 4});  // two heads of four, two numbers rotated
      const View angles = bench.matrix(1, 2, {quarter_turn[0], quarter_turn[1]});
      bench.device->rope(x, 4, angles, layout);
      return bench.read(x);
    });
    EXPECT_EQ(result, (std::vector<float>{-2, 1, 3, 4, -2, 1, 3, 4}));
  }
}

TEST(Layers, RopePairsFollowTheLayout) {
  // Two pairs; the first is turned by a quarter, the second not at all.
  const std::vector<float> angles = {0, 1, 1, 0};
  const auto rotated = [&](RopeLayout layout) {
    return on_all_kernels([&](DeviceBench& bench) {
      const View x = bench.matrix(1, 4, {1, 2, 3, 4});
      bench.device->rope(x, 4, bench.matrix(1, 4, angles), layout);
      return bench.read(x);
    });
  };
  EXPECT_EQ(rotated(RopeLayout::interleaved), (std::vector<float>{-2, 1, 3, 4}));
  EXPECT_EQ(rotated(RopeLayout::half_split), (std::vector<float>{-3, 2, 1, 4}));
}

TEST(Layers, RopeKeepsLengthsForLargeHeads) {
  for (const RopeLayout layout : {RopeLayout::interleaved, RopeLayout::half_split}) {
    const auto x = random_numbers(5 * 128, 4);
    std::vector<float> angles(5 * 64);
    for (std::size_t r = 0; r < 5; ++r) {
      for (std::size_t i = 0; i < 32; ++i) {
        const SinCos value = sin_cos_f64(0.37 * static_cast<double>(r * 32 + i));
        angles[r * 64 + i] = static_cast<float>(value.cos);
        angles[r * 64 + 32 + i] = static_cast<float>(value.sin);
      }
    }
    const auto y = on_all_kernels([&](DeviceBench& bench) {
      const View view = bench.matrix(5, 128, x);
      bench.device->rope(view, 64, bench.matrix(5, 64, angles), layout);
      return bench.read(view);
    });
    for (std::size_t head = 0; head < 10; ++head) {
      double before = 0, after = 0;
      for (std::size_t i = head * 64; i < head * 64 + 64; ++i) {
        before += x[i] * x[i];
        after += y[i] * y[i];
      }
      EXPECT_NEAR(before, after, before * 1e-6);
    }
  }
}

TEST(Layers, SiluMultiplyIsThePortableOne) {
  std::vector<float> gate = random_numbers(1000, 5, 20.0F);
  gate[0] = -200;
  gate[1] = 200;
  gate[2] = 0;
  const auto up = random_numbers(1000, 6);
  const auto result = on_all_kernels([&](DeviceBench& bench) {
    const View out = bench.matrix(10, 100);
    bench.device->silu_multiply(bench.matrix(10, 100, gate), bench.matrix(10, 100, up), out);
    return bench.read(out);
  });
  for (std::size_t i = 0; i < gate.size(); ++i) EXPECT_EQ(result[i], silu_f32(gate[i]) * up[i]) << gate[i];
}

TEST(Layers, AddAndGatherAndEmbedMoveTheRightRows) {
  const auto sum = on_all_kernels([](DeviceBench& bench) {
    const View x = bench.matrix(2, 3, {1, 2, 3, 4, 5, 6});
    bench.device->add(x, bench.matrix(2, 3, {10, 20, 30, 40, 50, 60}));
    bench.device->all_reduce(x);  // nothing to do on one device
    return bench.read(x);
  });
  EXPECT_EQ(sum, (std::vector<float>{11, 22, 33, 44, 55, 66}));

  const std::vector<std::uint32_t> indices = {2, 0, 2};
  const auto rows = on_all_kernels([&](DeviceBench& bench) {
    const View out = bench.matrix(3, 2);
    bench.device->gather_rows(bench.matrix(3, 2, {0, 1, 10, 11, 20, 21}), indices, out);
    return bench.read(out);
  });
  EXPECT_EQ(rows, (std::vector<float>{20, 21, 0, 1, 20, 21}));

  const std::vector<std::int32_t> ids = {3, 0, 3};
  for (const StorageType* type : storage_types()) {
    const auto numbers = random_numbers(4 * 256, 7);
    const auto expected = rounded_to(*type, numbers);
    const auto embedded = on_all_kernels([&](DeviceBench& bench) {
      const auto table = bench.weight(*type, WeightRole::embedding, 4, numbers);
      const View out = bench.matrix(3, 256);
      bench.device->embed(*table, ids, out);
      return bench.read(out);
    });
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t i = 0; i < 256; ++i) {
        ASSERT_EQ(embedded[r * 256 + i], expected[static_cast<std::size_t>(ids[r]) * 256 + i]) << type->name();
      }
    }
  }
}

}  // namespace
}  // namespace plm
