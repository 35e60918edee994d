// Panels hold exactly the numbers of the file: a product with unit vectors reads every weight back.
#include "kernels/cpu/panel.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/device_bench.h"

namespace plm {
namespace {

class PanelOfType : public testing::TestWithParam<const StorageType*> {};

// Random bytes as blocks, so that every level and every scale occurs; blocks with scales that are no numbers, or so
// large that a sum with zeros would not be exact, are left out.
std::vector<std::byte> random_blocks(const StorageType& type, std::size_t count) {
  std::mt19937 random(5);
  std::vector<std::byte> blocks(count * type.block_bytes);
  std::vector<float> numbers(type.block_size);
  for (std::size_t block = 0; block < count;) {
    std::byte* at = blocks.data() + block * type.block_bytes;
    for (std::uint32_t i = 0; i < type.block_bytes; ++i) at[i] = static_cast<std::byte>(random());
    type.unpack(at, numbers.data(), 1);
    const bool usable = type.is_finite(at, 1) && std::all_of(numbers.begin(), numbers.end(),
                                                             [](float number) { return std::abs(number) < 1e30F; });
    if (usable) ++block;
  }
  return blocks;
}

TEST_P(PanelOfType, UnitVectorsReadEveryWeightBack) {
  const StorageType& type = *GetParam();
  if (find_panel_layout(type) == nullptr) GTEST_SKIP() << "no panels for " << type.name();
  const std::size_t inputs = std::max<std::size_t>(64, type.block_size);
  const std::size_t outputs = 19;
  const auto blocks = random_blocks(type, outputs * inputs / type.block_size);
  std::vector<float> expected(outputs * inputs);
  type.unpack(blocks.data(), expected.data(), expected.size() / type.block_size);

  DeviceBench bench(CpuDeviceOptions{.threads = 1});
  const auto weight = bench.device->load_weight({"test", WeightRole::ffn_up, &type, outputs, inputs, blocks}).value();
  std::vector<float> units(inputs * inputs);
  for (std::size_t i = 0; i < inputs; ++i) units[i * inputs + i] = 1.0F;
  const View in = bench.matrix(inputs, inputs, units);
  const View out = bench.matrix(inputs, outputs);
  bench.device->linear(*weight, in, out);
  const auto read = bench.read(out);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t k = 0; k < inputs; ++k)
      ASSERT_EQ(read[k * outputs + o], expected[o * inputs + k]) << o << " " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(StorageTypes, PanelOfType, testing::ValuesIn(storage_types().begin(), storage_types().end()),
                         [](const auto& instance) { return std::string(instance.param->name()); });

TEST(Panel, CostsTheBitsOfTheFile) {
  for (const StorageType* type : storage_types()) {
    if (find_panel_layout(*type) == nullptr) continue;
    EXPECT_EQ(panel_bytes(*type, 512), 16 * type->row_bytes(512)) << type->name();
  }
  EXPECT_EQ(panel_count(16), 1U);
  EXPECT_EQ(panel_count(17), 2U);
}

}  // namespace
}  // namespace plm
