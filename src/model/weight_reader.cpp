#include "model/weight_reader.h"

namespace plm {

Result<std::unique_ptr<Weight>> WeightReader::matrix(const std::string& name, WeightRole role, MatrixSize size) {
  return matrix_rows(name, role, size, {.first = 0, .of = size.outputs});
}

Result<std::unique_ptr<Weight>> WeightReader::matrix_rows(const std::string& name, WeightRole role, MatrixSize size,
                                                          RowPart part) {
  PLM_CHECK(part.first + size.outputs <= part.of);
  const MatrixSize whole{.outputs = part.of, .inputs = size.inputs};
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(name, whole));
  if (device_ == nullptr) return nullptr;
  const std::size_t row_bytes = found.type->row_bytes(size.inputs);
  PLM_TRY_ASSIGN(const TensorBytes data, file_.gguf().read(*found.entry));
  const auto bytes = data.bytes.subspan(part.first * row_bytes, size.outputs * row_bytes);
  return take({name, role, found.type, size.outputs, size.inputs, bytes, data.owner}, *found.entry);
}

Result<std::unique_ptr<Weight>> WeightReader::take(const WeightSource& source, const TensorEntry& entry) {
  auto weight = device_->load_weight(source);
  if (!weight.has_value()) return tl::unexpected<Error>(weight.error().within(file_.path()));
  if ((*weight)->denormals > 0) {
    file_.warn(fmt::format("{}: tensor {}: {} denormal numbers; kept as they are, arithmetic on them can be slow",
                           file_.path(), source.name, (*weight)->denormals));
  }
  file_.tell_taken(entry);
  return weight;
}

Result<std::unique_ptr<Weight>> WeightReader::column(const std::string& name, WeightRole role, std::size_t size) {
  const TensorEntry* entry = file_.gguf().find_tensor(name);
  if (entry == nullptr || entry->dims[0] != 1) return vector(name, role, size);
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(name, {.outputs = size, .inputs = 1}));
  if (device_ == nullptr) return nullptr;
  PLM_TRY_ASSIGN(const TensorBytes data, file_.gguf().read(*found.entry));
  return take({name, role, found.type, 1, size, data.bytes, data.owner}, *found.entry);
}

Result<std::unique_ptr<Weight>> WeightReader::vector(const std::string& name, WeightRole role, std::size_t size) {
  const MatrixSize shape{.outputs = 1, .inputs = size};
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file_.tensor(name, shape));
  if (found.type != &quant_f32 && device_ != nullptr) {
    file_.warn(
        fmt::format("{}: tensor {}: stored as {}, expected f32; converted", file_.path(), name, found.type->name()));
  }
  return matrix(name, role, shape);
}

Result<std::unique_ptr<Weight>> WeightReader::constant(WeightRole role, std::size_t size, float value) {
  if (device_ == nullptr) return nullptr;
  const std::vector<float> numbers(size, value);
  return device_->load_weight({"constant", role, &quant_f32, 1, size, std::as_bytes(std::span(numbers))});
}

}  // namespace plm
