// The reference page of every sampling control, from the samplers' definitions and the profiles.
// Tested by tests/cli/test_control_page.cpp, which also holds docs/reference/controls.md to it.
#pragma once

#include <string>

namespace plm {

/// Markdown.
[[nodiscard]] std::string control_page();

}  // namespace plm
