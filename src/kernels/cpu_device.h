// The CPU as a device: the only thing that the engine needs to know about it.
#pragma once

#include <memory>

#include "base/thread_team.h"
#include "kernels/device.h"

namespace plm {

/// The plain kernels, kept for ever as the judge, or the vectorised ones.
enum class KernelChoice { fast, reference };

struct CpuDeviceOptions {
  int threads = physical_core_count();  ///< 1 ... ThreadTeam::kMostThreads
  KernelChoice kernels = KernelChoice::fast;
};

[[nodiscard]] std::unique_ptr<Device> make_cpu_device(CpuDeviceOptions options = {});

}  // namespace plm
