#include "model/weight_reader.h"

#include <cstring>

namespace plm {

Result<std::unique_ptr<Weight>> WeightReader::matrix(const std::string& name, WeightRole role, MatrixSize size) {
  return matrix_rows(name, role, size, {.first = 0, .of = size.outputs});
}

Result<std::unique_ptr<Weight>> WeightReader::matrix_rows(const std::string& name, WeightRole role, MatrixSize size,
                                                          RowPart part) {
  const MatrixSize whole{.outputs = part.of, .inputs = size.inputs, .count = size.count};
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(name, whole));
  return take_part(name, found, role, size, part);
}

Result<std::unique_ptr<Weight>> WeightReader::stacked_rows(const std::string& name, WeightRole role, MatrixSize size,
                                                           RowPart part) {
  const MatrixSize whole{.outputs = size.count * part.of, .inputs = size.inputs};
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(name, whole));
  return take_part(name, found, role, size, part);
}

Result<std::unique_ptr<Weight>> WeightReader::transposed_rows(const std::string& name, WeightRole role, MatrixSize size,
                                                              RowPart part) {
  PLM_CHECK(part.first + size.inputs <= part.of);
  const MatrixSize whole{.outputs = size.count * part.of, .inputs = size.outputs};
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(name, whole));
  if (device_ == nullptr) return nullptr;
  PLM_TRY_ASSIGN(const TensorBytes data, file_.gguf().read(*found.entry));
  const std::size_t columns = size.outputs, row_bytes = found.type->row_bytes(columns);
  auto numbers = std::make_shared<std::vector<float>>(size.count * size.outputs * size.inputs);
  std::vector<float> row(columns);
  for (std::size_t m = 0; m < size.count; ++m) {
    for (std::size_t i = 0; i < size.inputs; ++i) {
      const std::byte* from = data.bytes.data() + (m * part.of + part.first + i) * row_bytes;
      found.type->unpack(from, row.data(), columns / found.type->block_size);
      for (std::size_t o = 0; o < columns; ++o) (*numbers)[(m * columns + o) * size.inputs + i] = row[o];
    }
  }
  return take(name, role, size, {&quant_f32, std::as_bytes(std::span(*numbers)), numbers});
}

Result<std::unique_ptr<Weight>> WeightReader::expert_matrices(const std::string& name, WeightRole role,
                                                              MatrixSize size) {
  const auto single = [&](std::size_t expert) { return fmt::format("{}.{}.weight", name, expert); };
  const std::string all = name + "_exps.weight";
  if (has(all) || !has(single(0))) return matrix(all, role, size);
  const MatrixSize one{.outputs = size.outputs, .inputs = size.inputs};
  auto bytes = std::make_shared<std::vector<std::byte>>();
  const StorageType* type = nullptr;
  for (std::size_t e = 0; e < size.count; ++e) {
    PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(single(e), one));
    if (type != nullptr && found.type != type) {
      return fail(ErrorKind::bad_input, "{}: tensor {}: stored as {}, expected {} like the expert before it",
                  file_.path(), single(e), found.type->name(), type->name());
    }
    type = found.type;
    if (device_ == nullptr) continue;
    PLM_TRY_ASSIGN(const TensorBytes data, file_.gguf().read(*found.entry));
    bytes->insert(bytes->end(), data.bytes.begin(), data.bytes.end());
    file_.tell_taken(*found.entry);
  }
  if (device_ == nullptr) return nullptr;
  return take(single(0), role, size, {type, *bytes, bytes});
}

Result<std::unique_ptr<Weight>> WeightReader::vector(const std::string& name, WeightRole role, std::size_t size) {
  return vectors(name, role, 1, size);
}

Result<std::unique_ptr<Weight>> WeightReader::vectors(const std::string& name, WeightRole role, std::size_t count,
                                                      std::size_t size) {
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(name, {.outputs = count, .inputs = size}));
  if (found.type != &quant_f32 && device_ != nullptr) {
    file_.warn(
        fmt::format("{}: tensor {}: stored as {}, expected f32; converted", file_.path(), name, found.type->name()));
  }
  return take_part(name, found, role, {.outputs = 1, .inputs = size, .count = count}, {.first = 0, .of = 1});
}

Result<std::unique_ptr<Weight>> WeightReader::column(const std::string& name, WeightRole role, std::size_t size) {
  const TensorEntry* entry = file_.gguf().find_tensor(name);
  if (entry == nullptr || entry->dims[0] != 1) return vector(name, role, size);
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(name, {.outputs = size, .inputs = 1}));
  return take_part(name, found, role, {.outputs = 1, .inputs = size}, {.first = 0, .of = 1});
}

Result<std::unique_ptr<Weight>> WeightReader::constant(WeightRole role, std::size_t size, float value) {
  if (device_ == nullptr) return nullptr;
  const std::vector<float> numbers(size, value);
  const MatrixSize shape{.outputs = 1, .inputs = size};
  return take("constant", role, shape, {&quant_f32, std::as_bytes(std::span(numbers)), nullptr});
}

Result<std::unique_ptr<Weight>> WeightReader::take_part(const std::string& name, const ModelFile::Tensor& found,
                                                        WeightRole role, MatrixSize size, RowPart part) {
  PLM_CHECK(part.first + size.outputs <= part.of);
  if (device_ == nullptr) return nullptr;
  PLM_TRY_ASSIGN(const TensorBytes data, file_.gguf().read(*found.entry));
  const std::size_t row_bytes = found.type->row_bytes(size.inputs), matrix_bytes = size.outputs * row_bytes;
  Numbers numbers{found.type, data.bytes.subspan(part.first * row_bytes), data.owner};
  if (size.count == 1 || size.outputs == part.of) {
    numbers.bytes = numbers.bytes.first(size.count * matrix_bytes);
  } else {
    auto copied = std::make_shared<std::vector<std::byte>>(size.count * matrix_bytes);
    for (std::size_t m = 0; m < size.count; ++m) {
      std::memcpy(copied->data() + m * matrix_bytes, numbers.bytes.data() + m * part.of * row_bytes, matrix_bytes);
    }
    numbers.bytes = *copied;
    numbers.owner = copied;
  }
  auto weight = take(name, role, size, numbers);
  if (weight.has_value()) file_.tell_taken(*found.entry);
  return weight;
}

Result<std::unique_ptr<Weight>> WeightReader::take(const std::string& name, WeightRole role, MatrixSize size,
                                                   const Numbers& numbers) {
  auto weight = device_->load_weight(
      {name, role, numbers.type, size.outputs, size.inputs, numbers.bytes, numbers.owner, size.count});
  if (!weight.has_value()) return tl::unexpected<Error>(weight.error().within(file_.path()));
  if ((*weight)->denormals > 0) {
    file_.warn(fmt::format("{}: tensor {}: {} denormal numbers; kept as they are, arithmetic on them can be slow",
                           file_.path(), name, (*weight)->denormals));
  }
  return weight;
}

}  // namespace plm
