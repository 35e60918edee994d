// Plain versions of what stands between the matrix products: embedding, norm, rotation, activation, residual.
// Tested by tests/kernels/cpu/test_layers.cpp.
#include <cmath>
#include <utility>

#include "base/portable_math.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/lanes16.h"

namespace plm::reference {

void embed(const EmbedWork& work, Share rows) {
  const CpuWeight& table = *work.table;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const auto id = static_cast<std::size_t>(work.ids[r]);
    float* out = work.out.row(r);
    table.type->unpack(table.row(id), out, table.inputs / table.type->block_size);
    if (work.factor == 1) continue;
    for (std::size_t i = 0; i < table.inputs; ++i) out[i] *= work.factor;
  }
}

void rms_norm(const RmsNormWork& work, Share rows) {
  const std::size_t n = work.in.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* x = work.in.row(r);
    float* out = work.out.row(r);
    const float squares = lanes16(n, [x](std::size_t i) { return x[i] * x[i]; });
    const float root = std::sqrt(squares / static_cast<float>(n) + work.epsilon);
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] / root * work.gain[i];
  }
}

void rope(const RopeWork& work, Share rows) {
  const std::size_t pairs = work.angles.columns / 2;
  const bool interleaved = work.layout == RopeLayout::interleaved;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* cosines = work.angles.row(r);
    const float* sines = cosines + pairs;
    for (std::size_t head = 0; head < work.x.columns; head += work.head_dim) {
      float* x = work.x.row(r) + head;
      for (std::size_t i = 0; i < pairs; ++i) {
        float& a = x[interleaved ? 2 * i : i];
        float& b = x[interleaved ? 2 * i + 1 : i + pairs];
        const float turned = a * cosines[i] - b * sines[i];
        b = a * sines[i] + b * cosines[i];
        a = turned;
      }
    }
  }
}

void hadamard(const HadamardWork& work, Share rows) {
  const float factor = 1 / std::sqrt(static_cast<float>(work.block));
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    for (float *x = work.x.row(r), *end = x + work.x.columns; x != end; x += work.block) {
      for (std::size_t distance = 1; distance < work.block; distance *= 2) {
        for (std::size_t i = 0; i < work.block; ++i) {
          if ((i & distance) != 0) continue;
          const float a = x[i], b = x[i + distance];
          x[i] = a + b;
          x[i + distance] = a - b;
        }
      }
      for (std::size_t i = 0; i < work.block; ++i) x[i] *= factor;
    }
  }
}

namespace {

float silu_times(float gate, float up) { return silu_f32(gate) * up; }
float gelu_tanh_times(float gate, float up) { return gelu_tanh_f32(gate) * up; }
float gelu_erf_times(float gate, float up) { return gelu_erf_f32(gate) * up; }
float sigmoid_times(float gate, float up) { return sigmoid_f32(gate) * up; }

template <float (*Unit)(float gate, float up)>
void pass_gate(const GateWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* gate = work.gate.row(r);
    const float* up = work.up.row(r);
    float* out = work.out.row(r);
    for (std::size_t i = 0; i < work.gate.columns; ++i) out[i] = Unit(gate[i], up[i]);
  }
}

}  // namespace

void gate_multiply(const GateWork& work, Share rows) {
  switch (work.activation) {
    case Activation::silu: return pass_gate<silu_times>(work, rows);
    case Activation::gelu_tanh: return pass_gate<gelu_tanh_times>(work, rows);
    case Activation::gelu_erf: return pass_gate<gelu_erf_times>(work, rows);
    case Activation::clamped_swiglu: return pass_gate<clamped_swiglu_f32>(work, rows);
    case Activation::sigmoid: return pass_gate<sigmoid_times>(work, rows);
  }
}

void soft_cap(const SoftCapWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* x = work.x.row(r);
    for (std::size_t i = 0; i < work.x.columns; ++i) x[i] = soft_cap_f32(x[i], work.cap);
  }
}

void add(const AddWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* x = work.x.row(r);
    const float* y = work.y.row(r);
    for (std::size_t i = 0; i < work.x.columns; ++i) x[i] += y[i];
  }
}

void scale(const ScaleWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* x = work.x.row(r);
    for (std::size_t i = 0; i < work.x.columns; ++i) x[i] *= work.factor;
  }
}

}  // namespace plm::reference
