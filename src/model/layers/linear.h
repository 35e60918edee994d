// y = W x (+ b).
#pragma once

#include <memory>
#include <string>

#include "model/weight_reader.h"

namespace plm {

struct Linear {
  std::unique_ptr<Weight> weight;  ///< [outputs, inputs]
  std::unique_ptr<Weight> bias;    ///< [outputs] or null

  /// Reads NAME.weight and, when it is there, NAME.bias.
  static Result<Linear> load(WeightReader& reader, const std::string& name, WeightRole role, MatrixSize size) {
    Linear linear;
    PLM_TRY_ASSIGN(linear.weight, reader.matrix(name + ".weight", role, size));
    if (reader.has(name + ".bias")) {
      PLM_TRY_ASSIGN(linear.bias, reader.vector(name + ".bias", WeightRole::bias, size.outputs));
    }
    return linear;
  }

  /// Reads `size.outputs` of the rows of NAME.weight, which has `part.of` of them.
  static Result<Linear> load_rows(WeightReader& reader, const std::string& name, WeightRole role, MatrixSize size,
                                  RowPart part) {
    Linear linear;
    PLM_TRY_ASSIGN(linear.weight, reader.matrix_rows(name + ".weight", role, size, part));
    return linear;
  }

  /// in: [rows, inputs], out: [rows, outputs].
  void operator()(Device& device, const View& in, const View& out) const {
    device.linear(*weight, in, out, bias.get());
  }
};

}  // namespace plm
