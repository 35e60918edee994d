// The reference page of every sampling control, from the samplers' definitions and the profiles.
// Tested by tests/cli/test_control_page.cpp, which also holds docs/reference/controls.md to it.
#pragma once

#include <string>
#include <string_view>

namespace plm {

/// Markdown.
[[nodiscard]] std::string control_page();

/// What the page says of one sampler, or of one control and the samplers that have it, for a terminal; empty when
/// nothing is called so.
[[nodiscard]] std::string control_text(std::string_view name);

}  // namespace plm
