// Tensors of a model file on their way to a device. An architecture reads all of its tensors twice: with a reader that
// only looks, so that a file with a fault is refused before any weight has cost something, and with one that takes
// them. Tested by tests/model/test_weight_reader.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device.h"
#include "model/model_file.h"

namespace plm {

/// Rows from `first` on, of `of` that each matrix in the file has.
struct RowPart {
  std::size_t first = 0;
  std::size_t of = 0;
};

class WeightReader {
 public:
  /// Takes what it reads to the device.
  WeightReader(ModelFile& file, Device& device) : file_(file), device_(&device) {}
  /// Only looks: every tensor is checked, and the weights that come back are null.
  explicit WeightReader(ModelFile& file) : file_(file) {}

  [[nodiscard]] bool has(std::string_view name) const { return file_.has_tensor(name); }

  /// Takes the matrix [outputs, inputs], or `size.count` of them, to the device. Errors: missing, other shape, unusable
  /// type, damaged.
  [[nodiscard]] Result<std::unique_ptr<Weight>> matrix(const std::string& name, WeightRole role, MatrixSize size);

  /// The same for some rows of a matrix, or of each of several, that has `part.of`.
  [[nodiscard]] Result<std::unique_ptr<Weight>> matrix_rows(const std::string& name, WeightRole role, MatrixSize size,
                                                            RowPart part);

  /// Rows of each of several matrices that the file has below one another, as one [count * part.of, columns].
  [[nodiscard]] Result<std::unique_ptr<Weight>> stacked_rows(const std::string& name, WeightRole role, MatrixSize size,
                                                             RowPart part);
  /// The same, each transposed: the part has `size.inputs` rows of `size.outputs` numbers. Quantised ones become
  /// float32, as their blocks run along the rows.
  [[nodiscard]] Result<std::unique_ptr<Weight>> transposed_rows(const std::string& name, WeightRole role,
                                                                MatrixSize size, RowPart part);

  /// The matrices of all experts: NAME_exps.weight, or NAME.0.weight, NAME.1.weight ... of one type.
  [[nodiscard]] Result<std::unique_ptr<Weight>> expert_matrices(const std::string& name, WeightRole role,
                                                                MatrixSize size);

  /// A vector (norm, bias), float32 on the device; another type in the file is converted with a warning.
  [[nodiscard]] Result<std::unique_ptr<Weight>> vector(const std::string& name, WeightRole role, std::size_t size);
  /// `count` of them, the rows of a tensor.
  [[nodiscard]] Result<std::unique_ptr<Weight>> vectors(const std::string& name, WeightRole role, std::size_t count,
                                                        std::size_t size);

  /// The same for a vector that the file holds as a matrix of one column, or as a vector.
  [[nodiscard]] Result<std::unique_ptr<Weight>> column(const std::string& name, WeightRole role, std::size_t size);

  /// A vector of equal numbers, which no file holds.
  [[nodiscard]] Result<std::unique_ptr<Weight>> constant(WeightRole role, std::size_t size, float value);

  [[nodiscard]] ModelFile& file() const { return file_; }

 private:
  struct Numbers {
    const StorageType* type;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  Result<std::unique_ptr<Weight>> take(const std::string& name, WeightRole role, MatrixSize size,
                                       const Numbers& numbers);
  Result<std::unique_ptr<Weight>> take_part(const std::string& name, const ModelFile::Tensor& found, WeightRole role,
                                            MatrixSize size, RowPart part);

  ModelFile& file_;
  Device* device_ = nullptr;  // null: only looks
};

}  // namespace plm
