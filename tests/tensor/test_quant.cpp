// Every storage type against blocks, values and packed rows of GGML's own code (see the README of the oracle data:
// T.raw are blocks, T.f32 their values, T.src rows of 256 numbers, T.q what the reference quantiser makes of them).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "format/safetensors.h"
#include "tensor/quant/level_tables.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

/// The golden file of the repository, else that of the shared data; null when there is neither.
std::shared_ptr<const SafetensorsFile> open_golden() {
  for (const char* path : {PLM_GOLDEN "/quant/quant_golden.safetensors",
                           PLM_SHARED "/conformance/oracle/quant/quant_golden.safetensors"}) {
    if (!std::filesystem::exists(path)) continue;
    auto file = SafetensorsFile::open(path);
    EXPECT_TRUE(file.has_value()) << file.error().message;
    return file.value_or(nullptr);
  }
  return nullptr;
}

class Quant : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    file_ = open_golden();
    if (file_ == nullptr) GTEST_SKIP() << "quant_golden.safetensors is not there";
    type_ = find_storage_type(std::string_view(GetParam()));
    ASSERT_NE(type_, nullptr);
  }

  [[nodiscard]] std::span<const std::byte> bytes(const char* part) const {
    const SafetensorsEntry* entry = file_->find(std::string(GetParam()) + part);
    if (entry != nullptr) return entry->bytes;
    ADD_FAILURE() << GetParam() << part << " is not in the golden file";
    return {};
  }

  [[nodiscard]] std::vector<float> floats(const char* part) const {
    const std::span<const std::byte> source = bytes(part);
    std::vector<float> values(source.size() / sizeof(float));
    std::memcpy(values.data(), source.data(), source.size());
    return values;
  }

  [[nodiscard]] std::vector<float> unpack(std::span<const std::byte> blocks) const {
    const std::size_t block_count = blocks.size() / type_->block_bytes;
    std::vector<float> values(block_count * type_->block_size);
    type_->unpack(blocks.data(), values.data(), block_count);
    return values;
  }

  [[nodiscard]] std::vector<std::byte> pack(const std::vector<float>& values) const {
    std::vector<std::byte> blocks(type_->row_bytes(values.size()));
    type_->pack(values.data(), blocks.data(), values.size() / type_->block_size);
    return blocks;
  }

  std::shared_ptr<const SafetensorsFile> file_;
  const StorageType* type_ = nullptr;
};

std::string test_name(const testing::TestParamInfo<const char*>& info) { return info.param; }

class QuantUnpack : public Quant {};

// Plain types keep the sign of a zero too; the parts of a quantised block do not say it.
TEST_P(QuantUnpack, EqualsTheReferenceBitForBit) {
  const std::vector<float> expected = floats(".f32");
  const std::vector<float> values = unpack(bytes(".raw"));
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], expected[i]) << i;  // finite numbers: equal but for the sign of a zero
    if (type_->take_apart == nullptr) {
      ASSERT_EQ(std::signbit(values[i]), std::signbit(expected[i])) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, QuantUnpack,
                         testing::Values("F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K",
                                         "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4"),
                         test_name);

class QuantPack : public Quant {};

TEST_P(QuantPack, EqualsTheReferenceByteForByte) {
  const std::span<const std::byte> expected = bytes(".q");
  const std::vector<std::byte> blocks = pack(floats(".src"));
  ASSERT_EQ(blocks.size(), expected.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) ASSERT_EQ(blocks[i], expected[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Golden, QuantPack,
                         testing::Values("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4", "Q2_K", "Q4_K", "Q5_K",
                                         "Q6_K", "IQ4_NL", "IQ4_XS", "Q3_K"),
                         test_name);

class QuantPackPlain : public Quant {};

TEST_P(QuantPackPlain, GivesBackEveryNumber) {
  const std::span<const std::byte> expected = bytes(".raw");
  const std::vector<std::byte> blocks = pack(floats(".f32"));
  ASSERT_EQ(blocks.size(), expected.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) ASSERT_EQ(blocks[i], expected[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Golden, QuantPackPlain, testing::Values("F16", "BF16"), test_name);

TEST(LevelTables, FindTheNearestCode) {
  for (std::size_t code = 0; code < kIq4Levels.size(); ++code) {
    EXPECT_EQ(static_cast<std::size_t>(nearest_iq4_code(kIq4Levels[code])), code);
  }
  EXPECT_EQ(nearest_iq4_code(-4.5F), 7);  // halfway from -10 to 1: the lower one
  EXPECT_EQ(nearest_iq4_code(-4.4F), 8);
  EXPECT_EQ(nearest_iq4_code(-1e30F), 0);
  EXPECT_EQ(nearest_iq4_code(1e30F), 15);
  EXPECT_EQ(nearest_iq4_code(std::numeric_limits<float>::quiet_NaN()), 0);
}

// The ends of the range of exponents, where the scale is no normal number or levels leave float32.
TEST(QuantMxfp4, ScalesArePowersOfTwo) {
  const StorageType& type = *find_storage_type("mxfp4");
  std::vector<std::byte> block(type.block_bytes, std::byte{0x21});  // levels 1 and 2
  std::vector<float> values(type.block_size);
  for (const int exponent : {0, 1, 2, 127, 128, 254}) {
    block[0] = static_cast<std::byte>(exponent);
    type.unpack(block.data(), values.data(), 1);
    EXPECT_EQ(values.front(), std::ldexp(1.0F, exponent - 128)) << exponent;
    EXPECT_EQ(values.back(), std::ldexp(2.0F, exponent - 128)) << exponent;
    EXPECT_TRUE(type.is_finite(block.data(), 1)) << exponent;
  }
  block[0] = std::byte{255};
  EXPECT_FALSE(type.is_finite(block.data(), 1));  // 2^128
}

TEST(QuantF32, KeepsEveryBit) {
  const std::vector<float> values = {0.0F, -0.0F, 1.5F, -3.25e-39F, 3.4e38F};
  std::vector<std::byte> blocks(quant_f32.row_bytes(values.size()));
  quant_f32.pack(values.data(), blocks.data(), values.size());
  EXPECT_EQ(std::memcmp(blocks.data(), values.data(), blocks.size()), 0);
  std::vector<float> again(values.size());
  quant_f32.unpack(blocks.data(), again.data(), again.size());
  EXPECT_EQ(std::memcmp(again.data(), values.data(), blocks.size()), 0);
}

}  // namespace
}  // namespace plm
