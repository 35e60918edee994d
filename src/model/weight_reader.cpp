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
  auto weight = device_->load_weight({name, role, found.type, size.outputs, size.inputs, bytes, data.owner});
  if (!weight.has_value()) return tl::unexpected<Error>(weight.error().within(file_.path()));
  if ((*weight)->denormals > 0) {
    file_.warn(fmt::format("{}: tensor {}: {} denormal numbers; kept as they are, arithmetic on them can be slow",
                           file_.path(), name, (*weight)->denormals));
  }
  file_.tell_taken(*found.entry);
  return weight;
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

}  // namespace plm
