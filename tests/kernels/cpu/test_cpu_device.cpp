#include "kernels/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/every_device.h"

namespace plm {
namespace {

TEST(CpuDevice, SaysWhichKernelsItRuns) {
  EXPECT_EQ(make_cpu_device({.threads = 1, .kernels = KernelChoice::reference})->describe(), "cpu reference");
  EXPECT_EQ(make_cpu_device({.threads = 1})->describe().substr(0, 4), "cpu ");
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

}  // namespace
}  // namespace plm
