// What this machine can do at most: bytes read per second, as decoding reads every weight once a token, and operations
// per second of the instructions that the kernels are made of. Memory is what weights lie in (AlignedBuffer: huge pages
// where granted), one piece for each thread. What is measured here is printed by bench_limits and stands beside the
// kernels' figures in bench_linear.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/thread_team.h"

namespace plm {

/// Several measurements of one limit, sorted. Other programs only ever take away, so the last is the best guess.
struct Limit {
  std::string what;
  double megabytes;  ///< 0: no memory is read
  int threads;
  std::string unit;
  std::vector<double> values;
};

/// Reading that much memory over and over, one limit for each team. Empty if there is not so much memory.
[[nodiscard]] std::vector<Limit> limits_of_reading(double megabytes, std::span<ThreadTeam* const> teams);

/// "float32 fma", and those of "int16 maddwd" and "int8 dpbusd" that the machine has.
[[nodiscard]] std::vector<Limit> limits_of_instructions(ThreadTeam& team);

}  // namespace plm
