// Numbers for device tests: made from a seed, put on a device, read back.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "kernels/device.h"

namespace plm {

/// Uniform in [-1, 1), the same on every machine.
inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(static_cast<std::int32_t>(generator()) >> 8) * 0x1p-23F;
  return numbers;
}

/// A dense matrix with a storage of its own.
struct Matrix {
  std::shared_ptr<Storage> storage;
  View view;
};

inline Matrix make_matrix(Device& device, std::size_t rows, std::size_t columns) {
  Matrix matrix{device.allocate(rows * columns * sizeof(float)).value(), {}};
  matrix.view = dense_view(*matrix.storage, rows, columns);
  return matrix;
}

inline Matrix make_matrix(Device& device, std::size_t rows, std::size_t columns, const std::vector<float>& numbers) {
  Matrix matrix = make_matrix(device, rows, columns);
  device.upload(matrix.view, std::as_bytes(std::span(numbers)));
  return matrix;
}

/// Runs what is enqueued and reads a float32 view.
inline std::vector<float> read(Device& device, const View& view) {
  std::vector<float> numbers(view.rows * view.columns);
  device.download(view, std::as_writable_bytes(std::span(numbers)));
  EXPECT_TRUE(device.wait().has_value());
  return numbers;
}

/// Rows of a weight as a file holds them.
struct FileWeight {
  const StorageType* type;
  std::size_t outputs;
  std::size_t inputs;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::unique_ptr<Weight> load(Device& device, WeightRole role) const {
    return std::move(device.load_weight({"w", role, type, outputs, inputs, bytes}).value());
  }
  /// [outputs, inputs] as `unpack` reads them.
  [[nodiscard]] std::vector<float> numbers() const {
    std::vector<float> values(outputs * inputs);
    type->unpack(bytes.data(), values.data(), values.size() / type->block_size);
    return values;
  }
};

inline FileWeight file_weight(const StorageType& type, std::size_t outputs, std::size_t inputs,
                              const std::vector<float>& numbers) {
  FileWeight weight{&type, outputs, inputs, std::vector<std::byte>(outputs * type.row_bytes(inputs))};
  type.pack(numbers.data(), weight.bytes.data(), numbers.size() / type.block_size);
  return weight;
}

inline FileWeight random_weight(const StorageType& type, std::size_t outputs, std::size_t inputs, std::uint32_t seed) {
  return file_weight(type, outputs, inputs, random_floats(outputs * inputs, seed));
}

inline std::vector<std::uint32_t> bits_of(const std::vector<float>& numbers) {
  std::vector<std::uint32_t> bits;
  for (const float x : numbers) bits.push_back(std::bit_cast<std::uint32_t>(x));
  return bits;
}

}  // namespace plm
