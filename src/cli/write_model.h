// What `plm convert` and `plm quantize` share: their flags, and writing a model as a GGUF file.
// Tested by tests/cli/test_convert.py.
#pragma once

#include <string>

#include "base/thread_team.h"
#include "cli/command.h"

namespace plm {

inline constexpr Parameter kPureFlag = {
    .name = "pure",
    .summary = "all matrices in that type, none in a larger one where it would pay",
    .type = ParameterType::boolean,
    .tag = Tag::model,
};
inline constexpr Parameter kThreadsFlag = {
    .name = "threads",
    .aliases = "t",
    .summary = "not given: one for each physical core",
    .type = ParameterType::integer,
    .min = 1,
    .max = ThreadTeam::kMostThreads,
    .tag = Tag::backend,
};
inline constexpr Parameter kQuietFlag = {
    .name = "quiet",
    .aliases = "q",
    .summary = "nothing on stderr but errors",
    .type = ParameterType::boolean,
    .tag = Tag::pipe,
};

/// Writes the model called `model` to `path` as the flags above say; `type` empty: its tensors stay as they are.
[[nodiscard]] Result<int> write_model(Invocation& call, const std::string& model, const std::string& path,
                                      std::string_view type);

}  // namespace plm
