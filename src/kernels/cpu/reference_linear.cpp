// Plain matrix products: rows of the weight are unpacked one after another and multiplied as kernels/device.h says.
#include <cmath>
#include <vector>

#include "kernels/cpu/kernel_table.h"

namespace plm::reference {
namespace {

// Partial sums of 32 consecutive products, fused in order; the partial sums added in order.
float dot(const float* x, const float* w, std::size_t count) {
  constexpr std::size_t kPart = 32;
  float sum = 0;
  for (std::size_t begin = 0; begin < count; begin += kPart) {
    const std::size_t end = std::min(begin + kPart, count);
    float part = 0;
    for (std::size_t k = begin; k < end; ++k) part = std::fma(x[k], w[k], part);
    sum += part;
  }
  return sum;
}

}  // namespace

void linear(const LinearWork& work, Share outputs) {
  const CpuWeight& weight = *work.weight;
  std::vector<float> w(weight.inputs);
  for (std::size_t o = outputs.begin; o < outputs.end; ++o) {
    weight.type->unpack(weight.row(o, work.matrix), w.data(), weight.inputs / weight.type->block_size);
    for (std::size_t r = 0; r < work.in.rows; ++r) {
      const float sum = dot(work.in.row(r), w.data(), weight.inputs);
      work.out.row(r)[o] = work.bias != nullptr ? sum + work.bias[o] : sum;
    }
  }
}

}  // namespace plm::reference
