// Vectorised sums over experts. The choice of the experts is the plain one (reference_experts.cpp): it looks at a few
// hundred numbers a row. Tested by tests/kernels/cpu/test_cpu_experts.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_experts.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {

void sum_experts(const ExpertSumWork& work, Share rows) {
  const FloatTag d;
  const std::size_t n = work.out.columns, used = work.routing.columns / 2;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float* weights = work.routing.row(r) + used;
    float* out = work.out.row(r);
    for (std::size_t c = 0; c < used; ++c) {
      const float* in = work.in.row(work.lists->place_of(r, c));
      const Floatv weight = hn::Set(d, weights[c]);
      std::size_t i = 0;
      for (; i + kLanes <= n; i += kLanes) {
        const Floatv before = c == 0 ? hn::Zero(d) : load(out + i);
        hn::StoreU(hn::MulAdd(weight, load(in + i), before), d, out + i);
      }
      for (; i < n; ++i) out[i] = std::fma(weights[c], in[i], c == 0 ? 0.0F : out[i]);
    }
  }
}

void add_gated(const AddGatedWork& work, Share rows) {
  const FloatTag d;
  const std::size_t n = work.x.columns;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float weight = sigmoid_f32(work.gates.row(r)[0]);
    float* x = work.x.row(r);
    const float* y = work.y.row(r);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      hn::StoreU(hn::Add(load(x + i), hn::Mul(load(y + i), hn::Set(d, weight))), d, x + i);
    }
    for (; i < n; ++i) x[i] += y[i] * weight;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(sum_experts);
HWY_EXPORT(add_gated);
void set_simd_experts(KernelTable& table) {
  table.sum_experts = &HWY_DYNAMIC_DISPATCH(sum_experts);
  table.add_gated = &HWY_DYNAMIC_DISPATCH(add_gated);
}
}  // namespace plm
#endif
