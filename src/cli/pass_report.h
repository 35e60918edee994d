// What the passes of a text cost, for people and as JSON. Tested by tests/cli/test_pages.py.
#pragma once

#include <string>

#include "base/json_forward.h"
#include "engine/pass_tally.h"

namespace plm {

/// `tokens`: written, all together.
[[nodiscard]] Json pass_json(const PassTally& tally, std::size_t tokens);
/// One line or two, in brackets.
[[nodiscard]] std::string pass_report(const PassTally& tally, std::size_t tokens);

}  // namespace plm
