// One test, every CPU device: the reference kernels, the fast ones of each instruction set of this machine with several
// thread counts, and the fake device. All must give the same bits; only without fused multiply-add may they be off a
// little.
#pragma once

#include <functional>
#include <string>

#include <hwy/targets.h>
#include "kernels/cpu/cpu_device.h"
#include "kernels/device_numbers.h"
#include "kernels/fake_device.h"

namespace plm {

/// Calls visit(device) with the fast kernels for every instruction set of this machine.
inline void for_each_fast_device(int threads, const std::function<void(Device&)>& visit) {
  for (int bit = 0; bit < 62; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((hwy::SupportedTargets() & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    CpuDevice device({.threads = threads});
    hwy::SetSupportedTargetsForTest(0);
    if (device.describe() != "cpu reference") visit(device);
  }
}

/// Runs `run` everywhere and returns what the reference kernels gave.
inline std::vector<float> expect_same_everywhere(const std::function<std::vector<float>(Device&)>& run) {
  CpuDevice reference({.threads = 1, .kernels = KernelChoice::reference});
  const std::vector<float> expected = run(reference);
  FakeDevice fake(2);
  EXPECT_EQ(bits_of(run(fake)), bits_of(expected)) << "fake device";
  for (const int threads : {1, 2, 4}) {
    for_each_fast_device(threads, [&](Device& device) {
      SCOPED_TRACE(device.describe() + ", threads: " + std::to_string(threads));
      const std::vector<float> found = run(device);
      if (device.describe() != "cpu SSE4") {
        EXPECT_EQ(bits_of(found), bits_of(expected));
        return;
      }
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] == expected[i]) continue;  // infinities too
        EXPECT_NEAR(found[i], expected[i], 1e-5F + 1e-5F * std::abs(expected[i])) << i;
      }
    });
  }
  return expected;
}

}  // namespace plm
