#include "model/plain_numbers.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "base/utf8.h"

namespace plm {
namespace {

constexpr ConfigReader::IntegerRange kBlockSizes{1, 1U << 16};

/// Rows and columns of the blocks that share a scale.
struct BlockSize {
  std::uint64_t rows, columns;
};

Result<BlockSize> read_block_size(const ConfigReader& config) {
  PLM_TRY_ASSIGN(const auto settings, config.section("quantization_config"));
  if (!settings) return config.error("quantization_config", "there, as tensors are in eight-bit floats");
  PLM_TRY_ASSIGN(const auto sizes, settings->integers_or_none("weight_block_size", kBlockSizes));
  if (sizes.size() != 2) return settings->error("weight_block_size", "two numbers; other scales are not read");
  return BlockSize{sizes[0], sizes[1]};
}

const FolderTensor* find_scales(const HuggingFaceFolder& folder, const FolderTensor& tensor) {
  return folder.find_tensor(std::string(tensor.name) + std::string(kFp8Scales));
}

// Four bits of exponent with a bias of 7, three of mantissa; all ones are no number, there is no infinity.
float e4m3(unsigned code) {
  const unsigned exponent = code >> 3 & 15U, mantissa = code & 7U;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(8 + mantissa), static_cast<int>(exponent) - 10);
  const float value = (code & 127U) == 127U ? std::numeric_limits<float>::quiet_NaN() : size;
  return (code & 128U) != 0 ? -value : value;
}

const std::array<float, 256>& e4m3_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> all{};
    for (unsigned code = 0; code < all.size(); ++code) all[code] = e4m3(code);
    return all;
  }();
  return values;
}

}  // namespace

Result<void> check_plain_numbers(const HuggingFaceFolder& folder, const FolderTensor& tensor) {
  if (tensor.entry->dtype != SafetensorsDtype::f8_e4m3) return {};
  PLM_TRY_ASSIGN(const BlockSize block, read_block_size(*folder.config()));
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorKind::bad_input, "{}: tensor {}: {}", folder.shards()[tensor.shard]->path(),
                printable(tensor.name, 120), what);
  };
  const std::vector<std::uint64_t>& shape = tensor.entry->shape;
  if (shape.size() != 2) return refuse("is of type F8_E4M3, expected that of matrices only");
  const std::vector<std::uint64_t> expected{(shape[0] + block.rows - 1) / block.rows,
                                            (shape[1] + block.columns - 1) / block.columns};
  const FolderTensor* scales = find_scales(folder, tensor);
  if (scales != nullptr && scales->entry->dtype == SafetensorsDtype::f32 && scales->entry->shape == expected) return {};
  return refuse(fmt::format("has no tensor {} of F32 scales [{}]", kFp8Scales, fmt::join(expected, ", ")));
}

PlainNumbers::PlainNumbers(const HuggingFaceFolder& folder, const FolderTensor& tensor)
    : folder_(folder), tensor_(tensor) {
  if (tensor.entry->dtype == SafetensorsDtype::f8_e4m3) expand(*find_scales(folder, tensor));
}

PlainNumbers::~PlainNumbers() {
  if (const auto& map = folder_.shards()[tensor_.shard]->mapped()) map->release(tensor_.entry->bytes);
}

void PlainNumbers::expand(const FolderTensor& scales) {
  const BlockSize block = *read_block_size(*folder_.config());
  const std::uint64_t rows = tensor_.entry->shape[0], columns = tensor_.entry->shape[1];
  const std::uint64_t scale_columns = scales.entry->shape[1];
  const std::array<float, 256>& values = e4m3_values();
  const std::byte* code = tensor_.entry->bytes.data();
  expanded_.reserve(rows * columns);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t scale_row = row / block.rows * scale_columns;
    for (std::uint64_t begin = 0; begin < columns; begin += block.columns) {
      const float scale =
          safetensors_float(SafetensorsDtype::f32, scales.entry->bytes, scale_row + begin / block.columns);
      const std::uint64_t end = std::min(columns, begin + block.columns);
      for (std::uint64_t column = begin; column < end; ++column, ++code) {
        expanded_.push_back(bf16_from_float(values[std::to_integer<std::size_t>(*code)] * scale));
      }
    }
  }
}

}  // namespace plm
