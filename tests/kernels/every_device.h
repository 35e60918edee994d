// One test, every CPU device: the reference kernels, the fast ones of each instruction set of this machine with several
// thread counts, and the fake device. All must give the same bits; only without fused multiply-add may they be off a
// little.
#pragma once

#include <functional>
#include <string>

#include "kernels/cpu/cpu_device.h"
#include "kernels/device_numbers.h"
#include "kernels/fake_device.h"

namespace plm {

/// Calls visit(device) with the fast kernels for every instruction set of this machine.
inline void for_each_fast_device(int threads, const std::function<void(Device&)>& visit,
                                 Activations activations = Activations::f32) {
  for (const SimdTarget target : usable_simd_targets()) {
    CpuDevice device({.threads = threads, .simd = target, .activations = activations});
    visit(device);
  }
}

/// Whether the fast kernels of `device` fuse multiply-adds.
inline bool is_fused(const Device& device) {
#if defined(__x86_64__)
  return !device.describe().starts_with("cpu baseline");
#else
  static_cast<void>(device);
  return true;
#endif
}

/// Runs `run` everywhere and returns what the reference kernels gave.
inline std::vector<float> expect_same_everywhere(const std::function<std::vector<float>(Device&)>& run,
                                                 Activations activations = Activations::f32) {
  CpuDevice reference({.threads = 1, .kernels = KernelChoice::reference, .activations = activations});
  const std::vector<float> expected = run(reference);
  FakeDevice fake(2, activations);
  EXPECT_EQ(bits_of(run(fake)), bits_of(expected)) << "fake device";
  for (const int threads : {1, 2, 4}) {
    const auto compare = [&](Device& device) {
      SCOPED_TRACE(device.describe() + ", threads: " + std::to_string(threads));
      const std::vector<float> found = run(device);
      if (is_fused(device)) {
        EXPECT_EQ(bits_of(found), bits_of(expected));
        return;
      }
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] == expected[i]) continue;  // infinities too
        EXPECT_NEAR(found[i], expected[i], 1e-5F + 1e-5F * std::abs(expected[i])) << i;
      }
    };
    for_each_fast_device(threads, compare, activations);
  }
  return expected;
}

}  // namespace plm
