// The tables of the fast kernels, put together from the source files that are compiled once for each instruction set.
// Tested by tests/kernels/cpu/test_cpu_device.cpp.
#include "kernels/cpu/kernel_table.h"

// Before any header of Highway.
#include "kernels/cpu/simd_targets.h"

#include <hwy/targets.h>
#include <algorithm>
#include <mutex>
#include <vector>

namespace plm {
namespace {

#if defined(__x86_64__)
constexpr std::int64_t kBaseline = HWY_SSE4;
#else
constexpr std::int64_t kBaseline = HWY_STATIC_TARGET;
#endif

struct TargetEntry {
  SimdTarget target;
  std::string_view name;
  std::int64_t kernels;    // Highway's target
  std::string_view needs;  // for errors
};
constexpr TargetEntry kTargets[] = {
    {SimdTarget::baseline, "baseline", kBaseline, "sse4.1"},
    {SimdTarget::avx2, "avx2", HWY_AVX2, "avx2 and fma"},
    {SimdTarget::avx512, "avx512", HWY_AVX3, "avx512f, avx512bw, avx512dq and avx512vl"},
    {SimdTarget::avx512_vnni, "avx512_vnni", HWY_AVX3, "avx512_vnni"},
};

bool is_usable(const TargetEntry& entry) {
  if ((hwy::SupportedTargets() & entry.kernels) == 0) return false;
  return entry.target != SimdTarget::avx512_vnni || vnni::is_usable();
}

const TargetEntry& entry_of(SimdTarget target) { return kTargets[static_cast<std::size_t>(target)]; }

}  // namespace

std::string_view name_of(SimdTarget target) { return entry_of(target).name; }

std::span<const SimdTarget> usable_simd_targets() {
  static const std::vector<SimdTarget> usable = [] {
    std::vector<SimdTarget> targets;
    for (const TargetEntry& entry : kTargets) {
      if (is_usable(entry)) targets.push_back(entry.target);
    }
    return targets;
  }();
  return usable;
}

Result<SimdTarget> find_simd_target(std::string_view name) {
  std::string known;
  for (const TargetEntry& entry : kTargets) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
    if (entry.name != name) continue;
    const auto usable = usable_simd_targets();
    if (std::ranges::find(usable, entry.target) != usable.end()) return entry.target;
    return fail(ErrorKind::usage, "simd {}: this machine has no {}; the best it can run is {}", name, entry.needs,
                usable.empty() ? "--kernels reference" : name_of(usable.back()));
  }
  return fail(ErrorKind::usage, "simd \"{}\": not known; expected one of {}", name, known);
}

KernelTable simd_kernels(SimdTarget target) {
  static std::mutex choosing;  // Highway's choice is one for the whole process
  const std::lock_guard lock(choosing);
  KernelTable table = reference_kernels();
  hwy::SetSupportedTargetsForTest(entry_of(target).kernels);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  table.name = name_of(target);
  table.panels = true;
  set_simd_linear(table);
  set_simd_integer_linear(table);
  set_simd_layers(table);
  set_simd_curves(table);
  set_simd_attention(table);
  set_simd_logits(table);
  set_simd_recurrent(table);
  set_simd_experts(table);
  if (target == SimdTarget::avx512_vnni) {
    table.round = vnni::round;
    table.integer_linear = vnni::integer_linear;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return table;
}

}  // namespace plm
