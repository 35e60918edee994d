// Vectorised versions of what recurrent layers compute: a lane is a channel of the convolution, or a column of a
// head's matrix. Whatever does not fill a vector is computed one by one in the same way.
// Tested by tests/kernels/cpu/test_recurrent.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_recurrent.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "base/portable_math.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/recurrent_rows.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {

void causal_conv(const ConvWork& work, Share channels) {
  const FloatTag d;
  const std::size_t taps = work.place.taps, all = work.place.channels;
  for (const RecurrentRun& run : work.runs) {
    const ConvInputs inputs{work, run};
    inputs.begin(channels);
    for (std::size_t i = 0; i < run.row_count; ++i) {
      float* out = work.out.row(run.first_row + i);
      std::size_t c = channels.begin;
      for (; c + kLanes <= channels.end; c += kLanes) {
        Floatv sum = work.bias != nullptr ? load(work.bias + c) : hn::Zero(d);
        for (std::size_t tap = 0; tap < taps; ++tap) {
          sum = hn::MulAdd(load(work.taps + tap * all + c), load(inputs.row(i + tap) + c), sum);
        }
        hn::StoreU(silu_vector(sum), d, out + c);
      }
      for (; c < channels.end; ++c) {
        float sum = work.bias != nullptr ? work.bias[c] : 0;
        for (std::size_t tap = 0; tap < taps; ++tap) {
          sum = std::fma(work.taps[tap * all + c], inputs.row(i + tap)[c], sum);
        }
        out[c] = silu_f32(sum);
      }
    }
    inputs.end(channels);
  }
}

namespace {

/// The columns of kCount vectors from column `v` on.
template <std::size_t kCount>
HWY_INLINE void state_space_columns(const StateSpaceRow& row, float* matrix, std::size_t v) {
  const FloatTag d;
  const Floatv decay = hn::Set(d, row.decay);
  Floatv push[kCount], sum[kCount];
  PLM_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) {
    push[i] = hn::Mul(hn::Set(d, row.step), load(row.values + v + i * kLanes));
    sum[i] = hn::Zero(d);
  }
  PLM_KEEP_LOOP
  for (std::size_t k = 0; k < row.key_size; ++k) {
    const Floatv key = hn::Set(d, row.keys[k]), query = hn::Set(d, row.queries[k]);
    float* cells = matrix + k * row.width + v;
    PLM_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) {
      const Floatv cell = hn::MulAdd(load(cells + i * kLanes), decay, hn::Mul(push[i], key));
      hn::StoreU(cell, d, cells + i * kLanes);
      sum[i] = hn::MulAdd(cell, query, sum[i]);
    }
  }
  PLM_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) {
    const Floatv value = load(row.values + v + i * kLanes);
    hn::StoreU(hn::MulAdd(hn::Set(d, row.skip), value, sum[i]), d, row.out + v + i * kLanes);
  }
}

template <std::size_t kCount>
HWY_INLINE void delta_rule_columns(const DeltaRuleRow& row, float* matrix, std::size_t v) {
  const FloatTag d;
  const Floatv decay = hn::Set(d, row.decay);
  Floatv change[kCount], sum[kCount];
  PLM_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) change[i] = sum[i] = hn::Zero(d);
  PLM_KEEP_LOOP
  for (std::size_t k = 0; k < row.key_size; ++k) {
    const Floatv key = hn::Set(d, row.keys[k]);
    float* cells = matrix + k * row.width + v;
    PLM_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) {
      const Floatv cell = hn::Mul(load(cells + i * kLanes), decay);
      hn::StoreU(cell, d, cells + i * kLanes);
      change[i] = hn::MulAdd(cell, key, change[i]);
    }
  }
  PLM_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) {
    change[i] = hn::Mul(hn::Set(d, row.write), hn::Sub(load(row.values + v + i * kLanes), change[i]));
  }
  PLM_KEEP_LOOP
  for (std::size_t k = 0; k < row.key_size; ++k) {
    const Floatv key = hn::Set(d, row.keys[k]), query = hn::Set(d, row.queries[k]);
    float* cells = matrix + k * row.width + v;
    PLM_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) {
      const Floatv cell = hn::MulAdd(key, change[i], load(cells + i * kLanes));
      hn::StoreU(cell, d, cells + i * kLanes);
      sum[i] = hn::MulAdd(cell, query, sum[i]);
    }
  }
  PLM_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) hn::StoreU(sum[i], d, row.out + v + i * kLanes);
}

constexpr std::size_t kManyVectors = 4;

}  // namespace

void state_space_scan(const StateSpaceWork& work, Share units) {
  for (std::size_t u = units.begin; u < units.end; ++u) {
    const ScanUnit unit = scan_unit(work.place, u);
    walk_rows(work, unit, [&](std::size_t number, float* matrix) HWY_ATTR {
      const StateSpaceRow row(work, unit, number);
      std::size_t v = 0;
      for (; v + kManyVectors * kLanes <= unit.width; v += kManyVectors * kLanes) {
        state_space_columns<kManyVectors>(row, matrix, v);
      }
      for (; v + kLanes <= unit.width; v += kLanes) state_space_columns<1>(row, matrix, v);
      row.run(matrix, v, unit.width);
    });
  }
}

void delta_rule_scan(const DeltaRuleWork& work, Share units) {
  for (std::size_t u = units.begin; u < units.end; ++u) {
    const ScanUnit unit = scan_unit(work.place, u);
    walk_rows(work, unit, [&](std::size_t number, float* matrix) HWY_ATTR {
      const DeltaRuleRow row(work, unit, number);
      std::size_t v = 0;
      for (; v + kManyVectors * kLanes <= unit.width; v += kManyVectors * kLanes) {
        delta_rule_columns<kManyVectors>(row, matrix, v);
      }
      for (; v + kLanes <= unit.width; v += kLanes) delta_rule_columns<1>(row, matrix, v);
      row.run(matrix, v, unit.width);
    });
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(causal_conv);
HWY_EXPORT(state_space_scan);
HWY_EXPORT(delta_rule_scan);
void set_simd_recurrent(KernelTable& table) {
  table.causal_conv = &HWY_DYNAMIC_DISPATCH(causal_conv);
  table.state_space_scan = &HWY_DYNAMIC_DISPATCH(state_space_scan);
  table.delta_rule_scan = &HWY_DYNAMIC_DISPATCH(delta_rule_scan);
}
}  // namespace plm
#endif
