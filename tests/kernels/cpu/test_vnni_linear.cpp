// Runs src/kernels/cpu/vnni_linear.cpp on any machine: compiled once more, with instructions that SIMDe emulates.
#include <gtest/gtest.h>

// Under a sanitizer it would take a quarter of an hour to compile, and clang 19 has types of the names that SIMDe
// wants.
#if defined(__x86_64__) && __has_include(<simde/x86/avx512.h>) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wpsabi"
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>

// What SIMDe 0.7 lacks.
static inline __m512i _mm512_cvtepi8_epi32(__m128i a) {
  std::int8_t from[16];
  std::int32_t to[16];
  std::memcpy(from, &a, sizeof from);
  std::copy_n(from, 16, to);
  return _mm512_loadu_si512(to);
}
static inline __m512i _mm512_cvtepu16_epi32(__m256i a) {
  std::uint16_t from[16];
  std::int32_t to[16];
  std::memcpy(from, &a, sizeof from);
  std::copy_n(from, 16, to);
  return _mm512_loadu_si512(to);
}
static inline __m512i _mm512_cvtepu8_epi32(__m128i a) {
  std::uint8_t from[16];
  std::int32_t to[16];
  std::memcpy(from, &a, sizeof from);
  std::copy_n(from, 16, to);
  return _mm512_loadu_si512(to);
}
static inline __m512 _mm512_cvtepi32_ps(__m512i a) {
  std::int32_t from[16];
  float to[16];
  std::memcpy(from, &a, sizeof from);
  std::copy_n(from, 16, to);
  return _mm512_loadu_ps(to);
}
static inline __m512 _mm512_cvtph_ps(__m256i a) {
  std::uint16_t from[16];
  float to[16];
  std::memcpy(from, &a, sizeof from);
  std::transform(from, from + 16, to, plm::float_from_f16);
  return _mm512_loadu_ps(to);
}
// Fused, which SIMDe is only on a machine that is.
#undef _mm512_fmadd_ps
static inline __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c) {
  float x[16], y[16], z[16];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  std::memcpy(z, &c, sizeof z);
  for (int i = 0; i < 16; ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return _mm512_loadu_ps(z);
}
#pragma GCC diagnostic pop

#define PLM_VNNI_EMULATED
#define PLM_VNNI_NAMESPACE vnni_emulated
#include "kernels/cpu/vnni_linear.cpp"  // NOLINT(bugprone-suspicious-include)

#include "kernels/integer_products.h"

namespace plm {
namespace {

struct Kernels {
  void (*round)(const RoundWork&, Share);
  void (*integer_linear)(const IntegerLinearWork&, Share);
};

std::vector<float> run(const Kernels& kernels, const IntegerCase& c, int most) {
  CpuWeight weight;
  weight.type = c.weight.type;
  weight.outputs = c.weight.outputs;
  weight.inputs = c.weight.inputs;
  weight.bytes = c.weight.bytes;
  weight.panel = find_panel_type(*weight.type);
  const std::size_t panels = panel_count(weight.outputs), parts = part_count(weight.inputs);
  weight.panels = WeightMemory().take(panels * panel_bytes(weight.panel->form, parts)).value();
  const WeightSource source{"w", WeightRole::ffn_up, weight.type, weight.outputs, weight.inputs, weight.bytes};
  pack_panels(*weight.panel, source, {0, panels}, weight.panels.bytes.data());

  std::vector<float> in = c.in, out(c.rows * weight.outputs);
  const Floats in_rows{in.data(), c.rows, weight.inputs, weight.inputs};
  const Floats out_rows{out.data(), c.rows, weight.outputs, weight.outputs};
  const AlignedBuffer memory = AlignedBuffer::allocate(RoundedRows::bytes(c.rows, parts)).value();
  const RoundedRows rounded = RoundedRows::at(memory.data(), most, c.rows, parts);
  kernels.round({in_rows, rounded}, {0, c.rows});
  const float* bias = c.bias.empty() ? nullptr : c.bias.data();
  kernels.integer_linear({&weight, rounded, out_rows, bias}, {0, weight.outputs});
  return out;
}

TEST(VnniLinear, EmulatedGivesTheBitsOfThePlainKernels) {
  for (const StorageType* type : quantised_types()) {
    for (const int most : {kMostInt16, kMostInt8}) {
      for (const std::size_t outputs : {5U, 48U}) {
        for (const std::size_t rows : {1U, 2U, 7U, 13U}) {
          IntegerCase c = integer_case(*type, outputs, 768, rows);
          if (rows == 7) c.bias = random_floats(outputs, 3);
          EXPECT_EQ(bits_of(run({vnni_emulated::round, vnni_emulated::integer_linear}, c, most)),
                    bits_of(run({reference::round, reference::integer_linear}, c, most)))
              << type->name() << " " << outputs << " outputs, " << rows << " rows";
        }
      }
    }
  }
}

}  // namespace
}  // namespace plm

#else

TEST(VnniLinear, EmulatedGivesTheBitsOfThePlainKernels) {
  GTEST_SKIP() << "SIMDe is not installed, or a sanitizer is on";
}

#endif
