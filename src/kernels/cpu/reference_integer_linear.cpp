// Plain products of rounded activations with quantised weights (kernels/cpu/rounded_rows.h): quant blocks are taken
// apart, levels multiplied as whole numbers. Tested by tests/kernels/cpu/test_integer_linear.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/kernel_table.h"

namespace plm::reference {
namespace {

// The whole number nearest to x, ties to even; |x| < 2^22.
int nearest(float x) {
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23
  return static_cast<int>((x + kMagic) - kMagic);
}

// Returns the scale.
float round_part(const float* x, int most, std::int16_t* levels) {
  float largest = 0;
  for (std::size_t i = 0; i < kPartInputs; ++i) {
    if (!std::isfinite(x[i])) {
      std::fill_n(levels, kPartInputs, std::int16_t{0});
      return std::numeric_limits<float>::quiet_NaN();
    }
    largest = std::max(largest, std::fabs(x[i]));
  }
  const bool is_zero = largest < kLeastRounded;
  const float inverse = is_zero ? 0 : static_cast<float>(most) / largest;
  for (std::size_t i = 0; i < kPartInputs; ++i) levels[i] = static_cast<std::int16_t>(nearest(x[i] * inverse));
  return is_zero ? 0 : largest / static_cast<float>(most);
}

// One row of a weight: its quant blocks, taken apart.
std::vector<BlockParts> take_apart(const CpuWeight& weight, std::size_t output, std::size_t matrix) {
  std::vector<BlockParts> blocks(weight.inputs / weight.type->block_size);
  const std::byte* row = weight.row(output, matrix);
  for (BlockParts& block : blocks) {
    weight.type->take_apart(row, block);
    row += weight.type->block_bytes;
  }
  return blocks;
}

}  // namespace

void round(const RoundWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    for (std::size_t p = 0; p < work.out.part_count; ++p) {
      std::int16_t* levels = work.out.levels_at(r, p);
      const float scale = round_part(work.in.row(r) + p * kPartInputs, work.out.most, levels);
      work.out.part_at(r, p).set(scale, levels);
    }
  }
}

void integer_linear(const IntegerLinearWork& work, Share outputs) {
  const CpuWeight& weight = *work.weight;
  const std::size_t group_size = weight.type->group_size;
  const std::size_t block_size = weight.type->block_size;
  for (std::size_t o = outputs.begin; o < outputs.end; ++o) {
    const std::vector<BlockParts> blocks = take_apart(weight, o, work.matrix);
    for (std::size_t r = 0; r < work.in.rows; ++r) {
      const std::int16_t* levels = work.in.levels_at(r, 0);
      float sum = 0;
      for (std::size_t first = 0; first < weight.inputs; first += group_size) {
        const BlockParts& block = blocks[first / block_size];
        const std::size_t begin = first % block_size;
        std::int32_t product = 0, level_sum = 0;
        for (std::size_t i = 0; i < group_size; ++i) {
          product += block.levels[begin + i] * levels[first + i];
          level_sum += levels[first + i];
        }
        const float in_scale = work.in.part_at(r, first / kPartInputs).scale;
        const float scale = block.scale_unit * static_cast<float>(block.scales[begin / group_size]);
        sum = std::fma(static_cast<float>(product), scale * in_scale, sum);
        const float offset = block.offset_unit * static_cast<float>(block.offsets[begin / group_size]);
        sum = std::fma(offset, static_cast<float>(level_sum) * in_scale, sum);
      }
      work.out.row(r)[o] = work.bias != nullptr ? sum + work.bias[o] : sum;
    }
  }
}

}  // namespace plm::reference
