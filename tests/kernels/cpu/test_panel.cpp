// The packed bytes themselves; that readers get the right numbers out of them is tested with every type in
// test_linear.cpp.
#include "kernels/cpu/panel.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/device_numbers.h"

namespace plm {
namespace {

std::vector<std::byte> pack(const FileWeight& weight) {
  const std::size_t count = panel_count(weight.outputs);
  std::vector<std::byte> panels(count * panel_bytes(*weight.type, weight.inputs));
  const WeightSource source{"w", WeightRole::ffn_up, weight.type, weight.outputs, weight.inputs, weight.bytes};
  pack_panels(*find_panel_layout(*weight.type), source, {0, count}, panels.data());
  return panels;
}

TEST(Panel, PlacesTheSameInputOfSixteenRowsSideBySide) {
  const FileWeight weight = random_weight(quant_f32, 18, 33, 1);
  const std::vector<float> rows = weight.numbers();
  const std::vector<std::byte> panels = pack(weight);
  ASSERT_EQ(panels.size(), 2 * 64 * 16 * sizeof(float));  // 18 outputs fill two panels, 33 inputs two parts
  std::vector<float> numbers(panels.size() / sizeof(float));
  std::memcpy(numbers.data(), panels.data(), panels.size());
  for (std::size_t output = 0; output < 32; ++output) {
    for (std::size_t input = 0; input < 64; ++input) {
      const float expected = output < 18 && input < 33 ? rows[output * 33 + input] : 0.0F;
      EXPECT_EQ(numbers[(output / 16 * 64 + input) * 16 + output % 16], expected);
    }
  }
}

TEST(Panel, HoldsExactlyTheBytesOfTheFile) {
  for (const StorageType* type : storage_types()) {
    const PanelLayout* layout = find_panel_layout(*type);
    ASSERT_NE(layout, nullptr) << type->name();
    std::vector<int> used(type->block_bytes);
    for (const PanelField& field : layout->fields) {
      for (std::size_t i = 0; i < std::size_t{field.width} * field.count; ++i) ++used[field.offset + i];
    }
    EXPECT_EQ(used, std::vector<int>(type->block_bytes, 1)) << type->name();

    const FileWeight weight = random_weight(*type, 32, 512, 2);
    const std::vector<std::byte> panels = pack(weight);
    const auto count_bytes = [](const std::vector<std::byte>& bytes) {
      std::vector<int> counts(256);
      for (const std::byte b : bytes) ++counts[std::to_integer<unsigned>(b)];
      return counts;
    };
    EXPECT_EQ(count_bytes(panels), count_bytes(weight.bytes)) << type->name();
  }
}

}  // namespace
}  // namespace plm
