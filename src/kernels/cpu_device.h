// The CPU as a device: the only thing that the engine needs to know about it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/thread_team.h"
#include "kernels/device.h"

namespace plm {

/// The plain kernels, kept for ever as the judge, or the vectorised ones.
enum class KernelChoice { fast, reference };

/// What activations are rounded to before they meet quantised weights (DESIGN section 4; kernels/cpu/rounded_rows.h).
enum class Activations { f32, int8, int16 };

/// Instruction sets of the fast kernels, the plainest first. On other machines than x86-64 all but `baseline` are
/// missing.
enum class SimdTarget { baseline, avx2, avx512, avx512_vnni };

[[nodiscard]] std::string_view name_of(SimdTarget target);
/// Those that this machine can run, the plainest first; empty where only the plain kernels run.
[[nodiscard]] std::span<const SimdTarget> usable_simd_targets();
/// The target of that name. Errors (usage): unknown, or the machine lacks an instruction set, which is named.
[[nodiscard]] Result<SimdTarget> find_simd_target(std::string_view name);

struct CpuDeviceOptions {
  int threads = physical_core_count();  ///< 1 ... ThreadTeam::kMostThreads
  bool pin = false;                     ///< keep threads on processors of their own (ThreadTeam)
  KernelChoice kernels = KernelChoice::fast;
  /// Null: the environment variable PLM_SIMD if it names a usable target (so that a whole test suite runs on one), else
  /// the last usable one.
  std::optional<SimdTarget> simd = std::nullopt;
  Activations activations = Activations::int16;
};

[[nodiscard]] std::unique_ptr<Device> make_cpu_device(CpuDeviceOptions options = {});

}  // namespace plm
