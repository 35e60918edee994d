#include "tensor/storage_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/philox.h"
#include "format/ggml_type.h"

namespace plm {
namespace {

std::vector<float> uniform_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<float>(2 * uniform({.seed = seed, .cell = static_cast<std::uint32_t>(i)}) - 1);
  }
  return numbers;
}

std::vector<std::byte> packed(const StorageType& type, const std::vector<float>& values) {
  std::vector<std::byte> row(type.row_bytes(values.size()));
  type.pack(values.data(), row.data(), values.size() / type.block_size);
  return row;
}

TEST(StorageType, IsFoundByNumberNameAndAlias) {
  EXPECT_EQ(find_storage_type(0U), &quant_f32);
  EXPECT_EQ(find_storage_type(1U), &quant_f16);
  EXPECT_EQ(find_storage_type(30U), &quant_bf16);
  EXPECT_EQ(find_storage_type("f16"), &quant_f16);
  EXPECT_EQ(find_storage_type("BF16"), &quant_bf16);
  ASSERT_NE(find_storage_type("Q4_K"), nullptr);
  EXPECT_EQ(find_storage_type("Q4_K"), find_storage_type("q4_k"));
  EXPECT_EQ(find_storage_type("Q4_K"), find_storage_type(12U));
}

TEST(StorageType, UnknownOnesAreNull) {
  EXPECT_EQ(find_storage_type(4U), nullptr);  // removed from the format
  EXPECT_EQ(find_storage_type(0xffffffffU), nullptr);
  EXPECT_EQ(find_storage_type(""), nullptr);
  EXPECT_EQ(find_storage_type("q4"), nullptr);
  EXPECT_EQ(find_storage_type("q4_k_m"), nullptr);  // a mixture, not a type
}

TEST(StorageType, AgreesWithTheTableOfTheFileFormat) {
  for (const StorageType* type : storage_types()) {
    const GgmlType* format = find_ggml_type(type->ggml_id);
    ASSERT_NE(format, nullptr) << type->name();
    EXPECT_EQ(find_storage_type(format->name), type);
    EXPECT_EQ(format->block_elements, type->block_size) << type->name();
    EXPECT_EQ(format->block_bytes, type->block_bytes) << type->name();
  }
}

TEST(ReferenceDot, IsCloseToADotInDoublePrecision) {
  constexpr std::size_t kColumns = 768;
  const std::vector<float> x = uniform_numbers(kColumns, 1);
  for (const StorageType* type : storage_types()) {
    const std::vector<std::byte> row = packed(*type, uniform_numbers(kColumns, 2));
    std::vector<float> w(kColumns);
    type->unpack(row.data(), w.data(), kColumns / type->block_size);
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < kColumns; ++k) {
      sum += static_cast<double>(x[k]) * w[k];
      magnitude += std::fabs(static_cast<double>(x[k]) * w[k]);
    }
    EXPECT_NEAR(reference_dot(*type, row.data(), x.data(), kColumns), sum, 1e-6 * magnitude) << type->name();
  }
}

// The tree is a contract: fast kernels are compared with it bit for bit.
TEST(ReferenceDot, AddsPartialSumsOfThirtyTwoInOrder) {
  for (const std::size_t columns : {0U, 1U, 31U, 32U, 33U, 100U, 256U, 300U}) {
    const std::vector<float> x = uniform_numbers(columns, 3);
    const std::vector<float> w = uniform_numbers(columns, 4);
    float expected = 0;
    for (std::size_t begin = 0; begin < columns; begin += 32) {
      float partial = 0;
      for (std::size_t k = begin; k < std::min(begin + 32, columns); ++k) partial = std::fma(x[k], w[k], partial);
      expected += partial;
    }
    EXPECT_EQ(reference_dot(quant_f32, packed(quant_f32, w).data(), x.data(), columns), expected) << columns;
  }
}

TEST(ReferenceDot, DependsOnTheUnpackedNumbersOnly) {
  constexpr std::size_t kColumns = 512;
  const std::vector<float> x = uniform_numbers(kColumns, 5);
  for (const StorageType* type : storage_types()) {
    const std::vector<std::byte> row = packed(*type, uniform_numbers(kColumns, 6));
    std::vector<float> w(kColumns);
    type->unpack(row.data(), w.data(), kColumns / type->block_size);
    EXPECT_EQ(reference_dot(*type, row.data(), x.data(), kColumns),
              reference_dot(quant_f32, packed(quant_f32, w).data(), x.data(), kColumns))
        << type->name();
  }
}

}  // namespace
}  // namespace plm
