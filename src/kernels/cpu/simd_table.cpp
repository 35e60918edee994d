// The table of the best instruction set, put together from the source files that are compiled once for each.
// Tested by tests/kernels/cpu/test_cpu_device.cpp.
#include "kernels/cpu/kernel_table.h"

// Before any header of Highway.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_table.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
const char* target_name() { return hwy::TargetName(HWY_TARGET); }
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(target_name);

KernelTable simd_kernels() {
  KernelTable table = reference_kernels();
  if ((hwy::SupportedTargets() & HWY_TARGETS) == 0) return table;
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  table.name = HWY_DYNAMIC_DISPATCH(target_name)();
  table.panels = true;
  set_simd_linear(table);
  set_simd_layers(table);
  set_simd_attention(table);
  set_simd_logits(table);
  return table;
}

}  // namespace plm
#endif
