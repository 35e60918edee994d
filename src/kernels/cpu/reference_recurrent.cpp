// Plain versions of what recurrent layers compute: causal convolution and the scans, each by its stepwise recurrence.
// Tested by tests/kernels/cpu/test_recurrent.cpp.
#include <cmath>

#include "base/portable_math.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/recurrent_rows.h"

namespace plm::reference {

void causal_conv(const ConvWork& work, Share channels) {
  for (const RecurrentRun& run : work.runs) {
    const ConvInputs inputs{work, run};
    inputs.begin(channels);
    for (std::size_t i = 0; i < run.row_count; ++i) {
      float* out = work.out.row(run.first_row + i);
      for (std::size_t c = channels.begin; c < channels.end; ++c) {
        float sum = work.bias != nullptr ? work.bias[c] : 0;
        for (std::size_t tap = 0; tap < work.place.taps; ++tap) {
          sum = std::fma(work.taps[tap * work.place.channels + c], inputs.row(i + tap)[c], sum);
        }
        out[c] = silu_f32(sum);
      }
    }
    inputs.end(channels);
  }
}

void state_space_scan(const StateSpaceWork& work, Share units) {
  for (std::size_t u = units.begin; u < units.end; ++u) {
    const ScanUnit unit = scan_unit(work.place, u);
    walk_rows(work, unit,
              [&](std::size_t row, float* matrix) { StateSpaceRow(work, unit, row).run(matrix, 0, unit.width); });
  }
}

void delta_rule_scan(const DeltaRuleWork& work, Share units) {
  for (std::size_t u = units.begin; u < units.end; ++u) {
    const ScanUnit unit = scan_unit(work.place, u);
    walk_rows(work, unit,
              [&](std::size_t row, float* matrix) { DeltaRuleRow(work, unit, row).run(matrix, 0, unit.width); });
  }
}

}  // namespace plm::reference
