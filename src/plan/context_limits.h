// How long a text may be: four limits that are often taken for one another (datasheet 26).
//
// configured: the cells that a run sets aside. positional: positions that the network can tell apart, by a table of
// them or by a rotation stretched to that length. trained: the length of the texts it learned from, before any
// stretching. effective: how far back it still uses what it read, which only a measurement tells (plm probe). They need
// not agree; where they do not, more room is not more understanding (datasheet 4).
// Tested by tests/plan/test_context_limits.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/gguf.h"

namespace plm {

struct ContextLimits {
  std::uint64_t configured = 0;  ///< 0: not chosen
  std::uint64_t positional = 0;  ///< 0: no such limit is stated
  std::uint64_t trained = 0;     ///< 0: unknown
  std::optional<std::uint64_t> effective;

  /// The shortest of those that are known; 0 when none is.
  [[nodiscard]] std::uint64_t least() const;
};

/// What the keys of a file say.
[[nodiscard]] ContextLimits context_limits(const GgufFile& file, std::uint64_t configured);

/// One sentence for each pair that contradicts another, the worst first.
[[nodiscard]] std::vector<std::string> context_warnings(const ContextLimits& limits);

}  // namespace plm
