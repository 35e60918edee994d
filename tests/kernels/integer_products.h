// Products of rounded activations with quantised weights, for the tests of every kernel that computes them.
#pragma once

#include <cmath>

#include "kernels/device_numbers.h"

namespace plm {

struct IntegerCase {
  FileWeight weight;
  std::size_t rows;
  std::vector<float> in;    // [rows, weight.inputs]
  std::vector<float> bias;  // [weight.outputs] or empty
};

inline IntegerCase integer_case(const StorageType& type, std::size_t outputs, std::size_t inputs, std::size_t rows) {
  return {random_weight(type, outputs, inputs, 1), rows, random_floats(rows * inputs, 2), {}};
}

/// Quantised storage types.
inline std::vector<const StorageType*> quantised_types() {
  std::vector<const StorageType*> types;
  for (const StorageType* type : storage_types()) {
    if (type->group_size > 0) types.push_back(type);
  }
  return types;
}

/// [rows, outputs] in double precision, of the activations as they are.
inline std::vector<double> exact_products(const IntegerCase& c) {
  const std::vector<float> w = c.weight.numbers();
  std::vector<double> out(c.rows * c.weight.outputs);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t r = i / c.weight.outputs, o = i % c.weight.outputs;
    out[i] = c.bias.empty() ? 0 : c.bias[o];
    for (std::size_t k = 0; k < c.weight.inputs; ++k) {
      out[i] += double{c.in[r * c.weight.inputs + k]} * w[o * c.weight.inputs + k];
    }
  }
  return out;
}

}  // namespace plm
