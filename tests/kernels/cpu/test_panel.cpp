// The packed bytes themselves; that readers get the right numbers out of them is tested with every type in
// test_linear.cpp and test_integer_linear.cpp.
#include "kernels/cpu/panel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "base/philox.h"
#include "kernels/cpu/block_copy.h"
#include "kernels/device_numbers.h"

namespace plm {
namespace {

std::vector<std::byte> pack(const FileWeight& weight) {
  const std::size_t count = panel_count(weight.outputs);
  const PanelType& type = *find_panel_type(*weight.type);
  std::vector<std::byte> panels(count * panel_bytes(type.form, part_count(weight.inputs)));
  const WeightSource source{"w", WeightRole::ffn_up, weight.type, weight.outputs, weight.inputs, weight.bytes};
  pack_panels(type, source, {0, count}, panels.data());
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

TEST(Panel, BitPlanesHoldTheLevelsInTheDocumentedPlaces) {
  // Row 3 of a q5_0 weight: level of input k is k, so the stored level is k + 16 - 16 = k.
  const StorageType& type = *find_storage_type("q5_0");
  FileWeight weight{&type, 16, 32, std::vector<std::byte>(16 * type.block_bytes)};
  std::vector<float> ramp(32);
  for (std::size_t k = 0; k < 32; ++k) ramp[k] = static_cast<float>(k) - 16;
  type.pack(ramp.data(), weight.bytes.data() + 3 * type.block_bytes, 1);
  BlockParts block;
  type.take_apart(weight.bytes.data() + 3 * type.block_bytes, block);
  const std::vector<std::byte> panels = pack(weight);
  ASSERT_EQ(panels.size(), 64 + 16 * 4 * 5);  // units padded to a cache line, five words a row
  const auto byte = [&](std::size_t word, std::size_t i) {
    return std::to_integer<unsigned>(panels[64 + (word * 16 + 3) * 4 + i]);
  };
  for (std::size_t k = 0; k < 32; ++k) {
    const std::size_t quad = k / 4;
    const unsigned lower = byte(quad % 4, k % 4) >> (quad / 4 * 4) & 15U;
    const unsigned upper = byte(4, k % 4) >> quad & 1U;
    EXPECT_EQ(static_cast<int>(lower | upper << 4) - 16, block.levels[k]) << k;
  }
}

// Random bits, so that every level and every sign of a scale occurs; exponents of all ones are refused beforehand.
FileWeight random_bits(const StorageType& type, std::size_t outputs, std::size_t inputs) {
  FileWeight weight{&type, outputs, inputs, std::vector<std::byte>(outputs * type.row_bytes(inputs))};
  std::uint32_t cell = 0;
  for (std::byte& byte : weight.bytes) byte = static_cast<std::byte>(256 * uniform({.seed = 5, .cell = cell++}));
  for (std::size_t block = 0; block < weight.bytes.size(); block += type.block_bytes) {
    for (const std::size_t at : {1U, 3U}) weight.bytes[block + at] &= std::byte{0xBF};  // top bit of both exponents
  }
  return weight;
}

TEST(Panel, BlocksThatAreCopiedGiveTheBytesOfThoseTakenApart) {
  std::size_t copied = 0;
  for (const StorageType* type : storage_types()) {
    const PanelType& panel = *find_panel_type(*type);
    if (panel.form.is_plain() || find_block_words(panel.kind) == nullptr) continue;
    ++copied;
    for (const auto& [outputs, inputs] : {std::pair<std::size_t, std::size_t>{16, 32}, {18, 96}, {67, 576}}) {
      const FileWeight weight = random_bits(*type, outputs, inputs);
      const WeightSource source{"w", WeightRole::ffn_up, type, outputs, inputs, weight.bytes};
      const Share all{0, panel_count(outputs)};
      std::vector<std::byte> expected(all.end * panel_bytes(panel.form, part_count(inputs)));
      pack_panels_by_parts(panel, source, all, expected.data());
      EXPECT_EQ(pack(weight), expected) << type->name() << ", " << outputs << " x " << inputs;
    }
  }
  EXPECT_EQ(copied, 6U);
}

TEST(Panel, CostsWhatTheFileCosts) {
  for (const StorageType* type : storage_types()) {
    const PanelType* panel = find_panel_type(*type);
    ASSERT_NE(panel, nullptr) << type->name();
    const std::size_t inputs = 2048;
    const double bytes = static_cast<double>(panel_bytes(panel->form, part_count(inputs)));
    EXPECT_LE(bytes, 1.06 * 16 * static_cast<double>(type->row_bytes(inputs))) << type->name();
  }
}

}  // namespace
}  // namespace plm
