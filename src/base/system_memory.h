// How much memory this process can still get. Tested by tests/base/test_system_memory.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace plm {

/// Bytes that can be had without swapping: what the kernel reports as available, or what the control group (container)
/// leaves if that is less. The largest number when neither can be read.
[[nodiscard]] std::uint64_t available_memory_bytes();

/// "1.2 GiB", "34.0 MiB".
[[nodiscard]] std::string memory_size(std::uint64_t bytes);

}  // namespace plm
