// Runs a program that a stranger wrote: in a process of its own, in an empty folder that goes with it, without network,
// without further processes, unable to write outside its folder, and within limits of processor time, wall clock,
// memory and output. What breaks a limit is ended and reported.
//
// Linux: seccomp refuses sockets and processes (threads may be made), Landlock refuses writing elsewhere and reading
// what is not the system's; where the kernel has no Landlock the run is refused rather than made without.
// Tested by tests/search/test_sandbox.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace plm {

struct SandboxLimits {
  double wall_seconds = 10;
  std::uint64_t cpu_seconds = 10;
  std::uint64_t memory_bytes = std::uint64_t{512} << 20;  ///< of address space
  std::uint64_t file_bytes = std::uint64_t{16} << 20;     ///< of each file
  std::uint64_t output_bytes = std::uint64_t{64} << 10;   ///< kept of stdout and stderr together
};

struct SandboxRun {
  enum class End : std::uint8_t { exited, killed, timed_out };
  End end = End::exited;
  int status = 0;      ///< exit status, or the signal that killed it
  std::string output;  ///< stdout and stderr, cut at the limit
  double ms = 0;

  [[nodiscard]] bool succeeded() const { return end == End::exited && status == 0; }
  /// "exited with 1", "killed by signal 9", "took longer than 10 s".
  [[nodiscard]] std::string described(const SandboxLimits& limits) const;
};

/// A file that lies in the folder when the program starts.
struct SandboxFile {
  std::string name;  ///< without a folder
  std::string content;
};

/// Runs `command` (a program's path or name, and its arguments). Errors (failed): no Landlock, no such program, no
/// room.
[[nodiscard]] Result<SandboxRun> run_in_sandbox(const std::vector<std::string>& command,
                                                const std::vector<SandboxFile>& files,
                                                const SandboxLimits& limits = {});

}  // namespace plm
