// Settings of state-space mixers in Hugging Face checkpoints that have no key in GGUF, since everybody's are the same.
// Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <string_view>

#include "format/config_reader.h"

namespace plm {

/// Refuses (bad_input, naming the setting) another activation than SiLU under `activation`, and limits of time steps
/// that would change one.
[[nodiscard]] Result<void> refuse_other_scans(const ConfigReader& config, std::string_view activation);

}  // namespace plm
