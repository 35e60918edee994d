#include "kernels/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/every_device.h"

namespace plm {
namespace {

TEST(CpuDevice, SaysWhichKernelsItRuns) {
  EXPECT_EQ(make_cpu_device({.threads = 1, .kernels = KernelChoice::reference})->describe(),
            "cpu reference, activations int16");
  for (const SimdTarget target : usable_simd_targets()) {
    EXPECT_EQ(make_cpu_device({.threads = 1, .simd = target, .activations = Activations::int8})->describe(),
              fmt::format("cpu {}, activations int8", name_of(target)));
    EXPECT_EQ(find_simd_target(name_of(target)).value(), target);
  }
}

TEST(CpuDevice, SaysWhatASimdTargetLacks) {
  const auto unknown = find_simd_target("mmx");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message, "simd \"mmx\": not known; expected one of baseline, avx2, avx512, avx512_vnni");
  const auto usable = usable_simd_targets();
  for (const auto target : {SimdTarget::baseline, SimdTarget::avx2, SimdTarget::avx512, SimdTarget::avx512_vnni}) {
    const auto found = find_simd_target(name_of(target));
    const bool is_usable = std::ranges::find(usable, target) != usable.end();
    ASSERT_EQ(found.has_value(), is_usable) << name_of(target);
    if (is_usable) continue;
    EXPECT_EQ(found.error().kind, ErrorKind::usage);
    EXPECT_NE(found.error().message.find(": this machine has no "), std::string::npos) << found.error().message;
  }
}

TEST(CpuDevice, BarriersStandWhereWorkNeedsWhatOtherWorkWrote) {
  // Two products share rounded rows; the first input then changes and is rounded again.
  const FileWeight file = random_weight(*find_storage_type("q8_0"), 48, 64, 1);
  expect_same_everywhere(
      [&](Device& device) {
        const auto weight = file.load(device, WeightRole::ffn_up);
        const Matrix in = make_matrix(device, 3, 64, random_floats(3 * 64, 2));
        const Matrix more = make_matrix(device, 3, 64, random_floats(3 * 64, 3));
        const Matrix out = make_matrix(device, 9, 48);
        device.linear(*weight, in.view, out.view.row_range(0, 3));
        device.linear(*weight, in.view, out.view.row_range(3, 3));
        device.add(in.view, more.view);
        device.linear(*weight, in.view, out.view.row_range(6, 3));
        const std::vector<float> numbers = read(device, out.view);
        for (std::size_t i = 0; i < 3 * 48; ++i) EXPECT_EQ(numbers[i], numbers[i + 3 * 48]);
        EXPECT_NE(numbers[0], numbers[6 * 48]);
        return numbers;
      },
      Activations::int16);
}

TEST(CpuDevice, StorageIsZero) {
  expect_same_everywhere([](Device& device) {
    const Matrix small = make_matrix(device, 2, 3);
    const Matrix large = make_matrix(device, 1024, 1024);
    EXPECT_EQ(read(device, small.view), std::vector<float>(6));
    EXPECT_EQ(read(device, large.view.row_range(1023, 1)), std::vector<float>(1024));
    return std::vector<float>{};
  });
}

TEST(CpuDevice, UploadTakesItsBytesAtOnceAndOperationsRunInOrder) {
  const std::vector<float> out = expect_same_everywhere([](Device& device) {
    const Matrix x = make_matrix(device, 1, 2), y = make_matrix(device, 1, 2);
    std::vector<float> numbers{1, 2};
    device.upload(x.view, std::as_bytes(std::span(numbers)));
    numbers = {10, 20};
    device.upload(y.view, std::as_bytes(std::span(numbers)));
    numbers = {0, 0};
    device.add(x.view, y.view);           // x = 11, 22
    device.copy(*y.storage, *x.storage);  // y = 11, 22
    device.add(x.view, y.view);           // x = 22, 44
    device.all_reduce(x.view);            // alone: no change
    return read(device, x.view);
  });
  EXPECT_EQ(out, (std::vector<float>{22, 44}));
}

TEST(CpuDevice, GatherMovesRowsOfAnyTypeAndStride) {
  const std::vector<float> numbers = random_floats(4 * 6, 1);
  const std::vector<std::uint32_t> indices{3, 0, 3};
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Matrix in = make_matrix(device, 4, 6, numbers);
    const Matrix to = make_matrix(device, 3, 2);
    device.gather_rows(in.view.column_range(2, 2), indices, to.view);
    return read(device, to.view);
  });
  EXPECT_EQ(out, (std::vector<float>{numbers[20], numbers[21], numbers[2], numbers[3], numbers[20], numbers[21]}));
}

TEST(CpuDevice, NoRowsAreNoWork) {
  expect_same_everywhere([](Device& device) {
    const FileWeight file = random_weight(quant_f32, 3, 4, 1);
    const auto weight = file.load(device, WeightRole::ffn_up);
    const Matrix in = make_matrix(device, 1, 4), out = make_matrix(device, 1, 3);
    device.linear(*weight, in.view.row_range(0, 0), out.view.row_range(0, 0));
    device.embed(*weight, {}, in.view.row_range(0, 0));
    device.upload(in.view.row_range(0, 0), {});
    return read(device, out.view.row_range(1, 0));
  });
}

TEST(CpuDevice, RefusesWeightsThatAreNotFinite) {
  const auto refusal = [](CpuDevice& device, const FileWeight& file, WeightRole role) {
    const auto weight =
        device.load_weight({"blk.0.attn_q.weight", role, file.type, file.outputs, file.inputs, file.bytes});
    EXPECT_FALSE(weight.has_value());
    if (weight.has_value()) return std::string();
    EXPECT_EQ(weight.error().kind, ErrorKind::bad_input);
    return weight.error().message;
  };
  CpuDevice device({.threads = 2});
  std::vector<float> numbers = random_floats(8 * 32, 1);
  numbers[200] = std::numeric_limits<float>::quiet_NaN();
  FileWeight plain{&quant_f32, 8, 32, {}};
  plain.bytes.assign(std::as_bytes(std::span(numbers)).begin(), std::as_bytes(std::span(numbers)).end());
  EXPECT_EQ(refusal(device, plain, WeightRole::attention_query),
            "tensor blk.0.attn_q.weight: NaN or infinite value; the file is damaged, download it again");

  FileWeight quantised = random_weight(*find_storage_type("q8_0"), 8, 32, 1);
  quantised.bytes[5 * 34 + 1] = std::byte{0x7c};  // the scale of row 5
  quantised.bytes[5 * 34] = std::byte{0};
  for (const WeightRole role : {WeightRole::attention_query, WeightRole::embedding}) {
    EXPECT_EQ(refusal(device, quantised, role),
              "tensor blk.0.attn_q.weight: NaN or infinite scale; the file is damaged, download it again");
  }
}

TEST(CpuDevice, CountsDenormals) {
  CpuDevice device({.threads = 2});
  for (const StorageType* type : {&quant_f32, &quant_bf16, &quant_f16}) {
    std::vector<float> numbers = random_floats(8 * 32, 1);
    numbers[3] = 1e-39F, numbers[100] = -2e-39F, numbers[101] = 0;
    const auto weight = file_weight(*type, 8, 32, numbers).load(device, WeightRole::ffn_up);
    EXPECT_EQ(weight->denormals, type == &quant_f16 ? 0U : 2U) << type->name();
  }
}

}  // namespace
}  // namespace plm
