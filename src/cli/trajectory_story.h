// A trajectory in words: what each pass did, or how one position came to hold its token.
// Tested by tests/cli/test_trajectory.py.
#pragma once

#include <string>

#include "engine/trajectory.h"

namespace plm {

/// A table with a line for each pass, and what its numbers are.
[[nodiscard]] std::string trajectory_overview(const Trajectory& trajectory);

/// Everything that happened at `position`, counted from the start of the text, the given tokens among them.
/// Errors (usage): there is no such position; it was given.
[[nodiscard]] Result<std::string> trajectory_story(const Trajectory& trajectory, std::size_t position);

}  // namespace plm
