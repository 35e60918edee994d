// The CPU device beyond its kernels: what it refuses, what it copies, what it says of itself.
#include "kernels/cpu_device.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/device_bench.h"

namespace plm {
namespace {

TEST(CpuDevice, RefusesAWeightThatIsNoNumberAndNamesIt) {
  for (const StorageType* type : storage_types()) {
    DeviceBench bench(CpuDeviceOptions{.threads = 2});
    // All bits of a scale set is a NaN in every half and float; the first block of the second row is spoilt.
    std::vector<std::byte> bytes(4 * type->row_bytes(256));
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(type->row_bytes(256)), type->block_bytes, std::byte{0xff});
    const auto weight = bench.device->load_weight({"blk.7.ffn_up.weight", WeightRole::ffn_up, type, 4, 256, bytes});
    ASSERT_FALSE(weight.has_value()) << type->name();
    EXPECT_EQ(weight.error().kind, ErrorKind::bad_input);
    EXPECT_NE(weight.error().message.find("blk.7.ffn_up.weight"), std::string::npos) << weight.error().message;
  }
}

TEST(CpuDevice, VectorsAreFloatsWhateverTheirType) {
  DeviceBench bench(CpuDeviceOptions{.threads = 1});
  const auto gain = bench.weight(quant_f16, WeightRole::norm, 1, {2, 2, 2, 2});
  const View x = bench.matrix(1, 4, {1, 1, 1, 1});
  bench.device->rms_norm(x, *gain, 0.0F, x);
  EXPECT_EQ(bench.read(x), (std::vector<float>{2, 2, 2, 2}));
}

TEST(CpuDevice, OperationsRunInOrderAndUploadCopiesAtOnce) {
  DeviceBench bench(CpuDeviceOptions{.threads = 2});
  std::vector<float> numbers = {1, 2};
  const View x = bench.matrix(1, 2, numbers);
  numbers = {100, 200};
  bench.device->add(x, x);
  bench.device->add(x, x);
  EXPECT_EQ(bench.read(x), (std::vector<float>{4, 8}));
}

TEST(CpuDevice, CopiesAWholeStorage) {
  DeviceBench bench(CpuDeviceOptions{.threads = 2});
  const View from = bench.matrix(1, 3, {1, 2, 3});
  const View to = bench.matrix(1, 3);
  bench.device->copy(*to.storage, *from.storage);
  EXPECT_EQ(bench.read(to), (std::vector<float>{1, 2, 3}));
}

TEST(CpuDevice, StoragesAreZeroAtFirst) {
  DeviceBench bench(CpuDeviceOptions{.threads = 1});
  EXPECT_EQ(bench.read(bench.matrix(2, 2)), (std::vector<float>(4, 0.0F)));
}

TEST(CpuDevice, SaysWhatItIs) {
  const auto plain = make_cpu_device({.threads = 1, .kernels = KernelChoice::reference});
  const auto fast = make_cpu_device({.threads = 1});
  EXPECT_NE(plain->describe().find("reference"), std::string::npos) << plain->describe();
  EXPECT_NE(fast->describe(), plain->describe());
}

TEST(CpuDevice, RolesSayAlongWhichAxisAWeightMayBeCut) {
  EXPECT_EQ(split_axis(WeightRole::attention_query), SplitAxis::outputs);
  EXPECT_EQ(split_axis(WeightRole::ffn_gate), SplitAxis::outputs);
  EXPECT_EQ(split_axis(WeightRole::attention_output), SplitAxis::inputs);
  EXPECT_EQ(split_axis(WeightRole::ffn_down), SplitAxis::inputs);
  EXPECT_EQ(split_axis(WeightRole::norm), SplitAxis::none);
}

}  // namespace
}  // namespace plm
