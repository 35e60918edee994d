// The sketch of a network from the config.json of a Hugging Face folder alone: what it will cost, before a byte of its
// weights has been fetched. Sizes come from the settings, what these leave out from the table of families; of a family
// that nobody told us about, as most networks are, which the plan then says.
// Tested by tests/plan/test_config_sketch.cpp.
#pragma once

#include <string>

#include "format/config_reader.h"
#include "plan/model_sketch.h"

namespace plm {

/// Errors (bad_input) name file and setting: one that is missing, of another type, or beyond SketchLimits.
[[nodiscard]] Result<ModelSketch> sketch_of_config(const ConfigReader& config);

/// Limits of positions that the settings state; 0: none.
struct StatedContext {
  std::uint64_t positional = 0;  ///< positions that can be told apart: those of a table, or of the stretched rotation
  std::uint64_t trained = 0;     ///< before they were stretched
};
[[nodiscard]] Result<StatedContext> context_of_config(const ConfigReader& config);

}  // namespace plm
