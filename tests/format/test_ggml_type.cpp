#include "format/ggml_type.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace plm {
namespace {

TEST(GgmlType, KnowsEveryTypeOfTheFormat) {
  // Numbers of ids 0..41 that exist, from the format's own list.
  const std::vector<std::uint32_t> removed{4, 5, 31, 32, 33, 36, 37, 38};
  for (std::uint32_t id = 0; id <= 41; ++id) {
    const bool is_removed = std::ranges::find(removed, id) != removed.end();
    EXPECT_EQ(find_ggml_type(id) == nullptr, is_removed) << id;
  }
  EXPECT_EQ(find_ggml_type(42), nullptr);
  EXPECT_EQ(find_ggml_type(0xffffffff), nullptr);
  EXPECT_EQ(ggml_types().size(), 34U);
}

TEST(GgmlType, BytesFollowFromTheBlocks) {
  // The fields of each quant block add up: scales, high bits, quants.
  EXPECT_EQ(find_ggml_type("Q4_0")->block_bytes, 2U + 32 / 2);
  EXPECT_EQ(find_ggml_type("Q4_1")->block_bytes, 2U + 2 + 32 / 2);
  EXPECT_EQ(find_ggml_type("Q5_1")->block_bytes, 2U + 2 + 4 + 32 / 2);
  EXPECT_EQ(find_ggml_type("Q8_0")->block_bytes, 2U + 32);
  EXPECT_EQ(find_ggml_type("Q4_K")->block_bytes, 2U + 2 + 12 + 256 / 2);
  EXPECT_EQ(find_ggml_type("Q5_K")->block_bytes, 2U + 2 + 12 + 256 / 8 + 256 / 2);
  EXPECT_EQ(find_ggml_type("Q6_K")->block_bytes, 256U / 2 + 256 / 4 + 256 / 16 + 2);
  EXPECT_EQ(find_ggml_type("Q8_K")->block_bytes, 4U + 256 + 16 * 2);
  EXPECT_EQ(find_ggml_type("MXFP4")->block_bytes, 1U + 32 / 2);
}

TEST(GgmlType, FindsByName) {
  EXPECT_EQ(find_ggml_type("BF16")->id, 30U);
  EXPECT_EQ(find_ggml_type("bf16"), nullptr);
  for (const GgmlType& type : ggml_types()) EXPECT_EQ(find_ggml_type(type.name), find_ggml_type(type.id));
}

TEST(GgmlType, StorageBytesRefusePartialBlocksAndOverflow) {
  const GgmlType& q8 = *find_ggml_type("Q8_0");
  EXPECT_EQ(storage_bytes(q8, 64), 68U);
  EXPECT_EQ(storage_bytes(q8, 63), std::nullopt);
  EXPECT_EQ(storage_bytes(*find_ggml_type("F32"), std::uint64_t{1} << 62), std::nullopt);
  EXPECT_EQ(storage_bytes(*find_ggml_type("F32"), (std::uint64_t{1} << 62) - 1), ~std::uint64_t{0} - 3);
}

}  // namespace
}  // namespace plm
