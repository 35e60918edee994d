// A device with matrices from the host, for tests of single operations: upload, run, read back.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu_device.h"

namespace plm {

/// Equal to the bit, which == is not for zeros and NaN.
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Whether this machine fuses multiply-adds, so that fast and plain kernels promise equal bits.
inline bool machine_fuses() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

inline std::vector<float> random_numbers(std::size_t count, unsigned seed, float spread = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random);
  return numbers;
}

class DeviceBench {
 public:
  explicit DeviceBench(CpuDeviceOptions options) : device(make_cpu_device(options)) {}
  explicit DeviceBench(std::unique_ptr<Device> on) : device(std::move(on)) {}

  View matrix(std::size_t rows, std::size_t columns, const std::vector<float>& numbers = {}) {
    storages_.push_back(device->allocate(rows * columns * sizeof(float)).value());
    const View view = dense_view(*storages_.back(), rows, columns);
    if (!numbers.empty()) device->upload(view, std::as_bytes(std::span(numbers)));
    return view;
  }

  /// Packs `numbers` [outputs, inputs] in `type` and takes them to the device.
  std::unique_ptr<Weight> weight(const StorageType& type, WeightRole role, std::size_t outputs,
                                 const std::vector<float>& numbers) {
    const std::size_t inputs = numbers.size() / outputs;
    auto& bytes = bytes_.emplace_back(outputs * type.row_bytes(inputs));
    type.pack(numbers.data(), bytes.data(), numbers.size() / type.block_size);
    return device->load_weight({"test", role, &type, outputs, inputs, bytes}).value();
  }

  std::vector<float> read(const View& view) {
    std::vector<float> numbers(view.rows * view.columns);
    device->download(view, std::as_writable_bytes(std::span(numbers)));
    EXPECT_TRUE(device->wait().has_value());
    return numbers;
  }

  std::unique_ptr<Device> device;

 private:
  std::vector<std::shared_ptr<Storage>> storages_;
  std::vector<std::vector<std::byte>> bytes_;  // weights may go on reading them
};

/// The numbers that a storage type makes of `numbers`.
inline std::vector<float> rounded_to(const StorageType& type, const std::vector<float>& numbers) {
  std::vector<std::byte> bytes(type.row_bytes(numbers.size()));
  std::vector<float> rounded(numbers.size());
  type.pack(numbers.data(), bytes.data(), numbers.size() / type.block_size);
  type.unpack(bytes.data(), rounded.data(), numbers.size() / type.block_size);
  return rounded;
}

}  // namespace plm
