// What every storage type must keep, driven by the registry: a new file in src/tensor/quant/ is tested by existing.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/philox.h"
#include "base/settings.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

class StorageTypes : public testing::TestWithParam<const StorageType*> {
 protected:
  const StorageType& type_ = *GetParam();

  [[nodiscard]] std::vector<std::byte> pack(const std::vector<float>& values) const {
    std::vector<std::byte> blocks(type_.row_bytes(values.size()));
    type_.pack(values.data(), blocks.data(), values.size() / type_.block_size);
    return blocks;
  }

  [[nodiscard]] std::vector<float> unpack(const std::vector<std::byte>& blocks) const {
    std::vector<float> values(blocks.size() / type_.block_bytes * type_.block_size);
    type_.unpack(blocks.data(), values.data(), blocks.size() / type_.block_bytes);
    return values;
  }

  [[nodiscard]] bool is_finite(const std::vector<std::byte>& blocks) const {
    return type_.is_finite(blocks.data(), blocks.size() / type_.block_bytes);
  }
};

bool all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

/// Numbers with the bell shape of weights, standard deviation 0.05 (the sum of twelve uniform ones).
std::vector<float> weights(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = -6;
    for (std::uint32_t draw = 0; draw < 12; ++draw) {
      sum += uniform({.seed = 7, .cell = static_cast<std::uint32_t>(i), .draw = draw});
    }
    values[i] = static_cast<float>(0.05 * sum);
  }
  return values;
}

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(256 * uniform({.seed = seed, .cell = static_cast<std::uint32_t>(i)}));
  }
  return bytes;
}

double root_mean_square(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST_P(StorageTypes, IsDocumentedAndConsistent) {
  EXPECT_FALSE(type_.head.summary.empty());
  EXPECT_FALSE(type_.head.source.empty());
  EXPECT_GT(type_.block_size, 0U);
  EXPECT_EQ(256 % type_.block_size, 0U);  // reference_dot unpacks at most 256 numbers at once
  EXPECT_EQ(find_storage_type(type_.ggml_id), &type_);
  EXPECT_EQ(find_storage_type(type_.name()), &type_);
  for (const std::string_view alias : split_list(type_.head.aliases)) EXPECT_EQ(find_storage_type(alias), &type_);
}

TEST_P(StorageTypes, RowBytesCountBlocks) {
  EXPECT_EQ(type_.row_bytes(0), 0U);
  EXPECT_EQ(type_.row_bytes(type_.block_size), type_.block_bytes);
  EXPECT_EQ(type_.row_bytes(std::size_t{768}), 768 / type_.block_size * std::size_t{type_.block_bytes});
}

// Plain types: every number within half a unit of bfloat16. Quantised: the error of b whole bits a number spread evenly
// over six standard deviations is 1.7 / 2^b of one; twice that is allowed.
TEST_P(StorageTypes, RoundTripIsBounded) {
  const std::vector<float> values = weights(4096);
  const std::vector<float> again = unpack(pack(values));
  std::vector<float> errors(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) errors[i] = again[i] - values[i];
  if (type_.block_size == 1) {
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_LE(std::fabs(errors[i]), std::fabs(values[i]) * 0x1p-8F) << i;
  } else {
    const int bits = static_cast<int>(8 * type_.block_bytes / type_.block_size);
    EXPECT_LE(root_mean_square(errors), 3.4 * std::exp2(-bits) * root_mean_square(values));
  }
}

TEST_P(StorageTypes, NegatedNumbersAreAsClose) {
  std::vector<float> values = weights(1024);
  const std::vector<float> again = unpack(pack(values));
  std::vector<float> errors(values.size()), negated_errors(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) errors[i] = again[i] - values[i];
  for (float& value : values) value = -value;
  const std::vector<float> negated = unpack(pack(values));
  for (std::size_t i = 0; i < values.size(); ++i) negated_errors[i] = negated[i] - values[i];
  EXPECT_LE(root_mean_square(negated_errors), 1.1 * root_mean_square(errors));
}

TEST_P(StorageTypes, ZeroStaysZero) {
  const std::vector<std::byte> blocks = pack(std::vector<float>(512, 0.0F));
  EXPECT_TRUE(is_finite(blocks));
  for (const float value : unpack(blocks)) ASSERT_EQ(value, 0.0F);
  for (const float value : unpack(std::vector<std::byte>(blocks.size()))) ASSERT_EQ(value, 0.0F);
}

TEST_P(StorageTypes, BlocksAreIndependent) {
  const std::vector<float> values = weights(std::size_t{4} * type_.block_size);
  const std::vector<std::byte> blocks = pack(values);
  const std::vector<float> again = unpack(blocks);
  for (std::size_t b = 0; b < 4; ++b) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(b * type_.block_size);
    const std::vector<std::byte> alone = pack({first, first + type_.block_size});
    EXPECT_TRUE(std::ranges::equal(alone, std::span(blocks).subspan(b * type_.block_bytes, type_.block_bytes))) << b;
    EXPECT_TRUE(std::ranges::equal(unpack(alone), std::span(again).subspan(b * type_.block_size, type_.block_size)))
        << b;
  }
}

TEST_P(StorageTypes, PackedNumbersAreFinite) {
  for (const float scale : {1e-30F, 1e-6F, 1.0F, 1e4F}) {
    std::vector<float> values = weights(1024);
    for (float& value : values) value *= scale;
    const std::vector<std::byte> blocks = pack(values);
    EXPECT_TRUE(is_finite(blocks)) << scale;
    EXPECT_TRUE(all_finite(unpack(blocks))) << scale;
  }
  EXPECT_TRUE(type_.is_finite(nullptr, 0));
}

// Whatever the bytes: is_finite says exactly whether the unpacked numbers are.
TEST_P(StorageTypes, IsFiniteSpeaksForTheNumbersOfRandomBlocks) {
  int finite_count = 0;
  constexpr int kTries = 2000;
  for (int i = 0; i < kTries; ++i) {
    const std::vector<std::byte> block = random_bytes(type_.block_bytes, 100 + static_cast<std::uint64_t>(i));
    ASSERT_EQ(is_finite(block), all_finite(unpack(block))) << i;
    finite_count += is_finite(block) ? 1 : 0;
  }
  EXPECT_GT(finite_count, 0);
  EXPECT_LT(finite_count, kTries);
}

// One scale (or number) put out of range anywhere in a row is seen; so no field and no block is left out.
TEST_P(StorageTypes, IsFiniteSeesEveryField) {
  const std::size_t block_count = std::max<std::size_t>(3, 40 / type_.block_size);
  const std::vector<std::byte> row = pack(weights(block_count * type_.block_size));
  ASSERT_TRUE(is_finite(row));
  for (std::size_t block = 0; block < row.size(); block += type_.block_bytes) {
    int seen = 0;
    for (std::size_t at = block; at + 2 <= block + type_.block_bytes; ++at) {
      // Infinities and NaN of 16 bits, and the largest exponent of eight.
      for (const std::uint16_t bits : {0x7c00, 0xfc00, 0x7e01, 0x7f80, 0xff80, 0x7fc1, 0xffff}) {
        std::vector<std::byte> broken = row;
        broken[at] = static_cast<std::byte>(bits & 0xff);
        broken[at + 1] = static_cast<std::byte>(bits >> 8);
        ASSERT_EQ(is_finite(broken), all_finite(unpack(broken))) << at << ", " << bits;
        seen += is_finite(broken) ? 0 : 1;
      }
    }
    EXPECT_GT(seen, 0) << block;
  }
}

// The parts of a block say all there is about it, whatever was in the parts before.
TEST_P(StorageTypes, PartsGiveTheNumbers) {
  if (type_.block_size == 1) {
    EXPECT_EQ(type_.group_size, 0U);
    EXPECT_EQ(type_.take_apart, nullptr);
    return;
  }
  ASSERT_TRUE(type_.group_size == 16 || type_.group_size == 32);
  ASSERT_EQ(type_.block_size % type_.group_size, 0U);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<std::byte> block = random_bytes(type_.block_bytes, seed);
    if (!is_finite(block)) continue;
    BlockParts parts{.scale_unit = -7, .offset_unit = 7};
    parts.scales.fill(-99);
    parts.offsets.fill(99);
    parts.levels.fill(-77);
    type_.take_apart(block.data(), parts);
    const std::vector<float> values = unpack(block);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t group = i / type_.group_size;
      const float scale = parts.scale_unit * parts.scales[group];
      const float offset = parts.offset_unit * parts.offsets[group];
      ASSERT_EQ(values[i], scale * parts.levels[i] + offset) << seed << ", " << i;
    }
  }
}

// A stranger's model can make any activation, and activations are packed into the KV cache.
TEST_P(StorageTypes, PackTakesAnyNumbersAndStaysInItsBlocks) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr std::byte kGuard{0xa5};
  for (const float strange :
       {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, kLargest, -kLargest, 1e-45F, -1e-39F, 1e6F}) {
    for (const bool everywhere : {false, true}) {
      std::vector<float> values = weights(256);
      for (std::size_t i = 0; i < values.size(); i += everywhere ? 1 : 37) values[i] = i % 2 == 0 ? strange : -strange;
      std::vector<std::byte> blocks(type_.row_bytes(values.size()) + 1, kGuard);
      type_.pack(values.data(), blocks.data(), values.size() / type_.block_size);
      EXPECT_EQ(blocks.back(), kGuard) << strange;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, StorageTypes, testing::ValuesIn(storage_types().begin(), storage_types().end()),
                         [](const auto& tested) { return std::string(tested.param->name()); });

TEST(StorageTypeRegistry, HasTheTypesOfRealFilesSortedAndUnique) {
  std::set<std::uint32_t> ids;
  std::set<std::string_view> names;
  std::size_t name_count = 0;
  for (const StorageType* type : storage_types()) {
    EXPECT_TRUE(ids.insert(type->ggml_id).second) << type->name();
    names.insert(type->name());
    ++name_count;
    for (const std::string_view alias : split_list(type->head.aliases)) {
      names.insert(alias);
      ++name_count;
    }
  }
  EXPECT_EQ(names.size(), name_count);
  EXPECT_TRUE(std::ranges::is_sorted(storage_types(), {}, [](const StorageType* type) { return type->name(); }));
  for (const char* name : {"f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k",
                           "q6_k", "iq4_nl", "iq4_xs", "mxfp4"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace plm
