// What the makers of a model advise for sampling, as its file says it: the keys general.sampling.* that llama.cpp
// reads, into which a folder's generation_config.json is translated. It stands in the place of the declared defaults,
// below what flags, a request or a profile say. Tested by tests/engine/test_sampling_defaults.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/settings.h"
#include "format/gguf.h"

namespace plm {

struct SamplingDefault {
  std::string_view parameter;  ///< of sampling_parameters()
  Json value;
};

struct SamplingDefaults {
  std::vector<SamplingDefault> values;
  std::vector<std::string> warnings;  ///< of what cannot be used, one sentence each, naming file and key
};

/// What the metadata says. A value that is none of its parameter's is a warning: bad advice is no reason not to run.
[[nodiscard]] SamplingDefaults read_sampling_defaults(const GgufFile& file);

/// Sets in `settings` (which hold sampling_parameters()) what was not given, what the profile leaves open, and what
/// would act. Returns what was set, by name.
Json apply_sampling_defaults(const SamplingDefaults& defaults, Settings& settings);

}  // namespace plm
