// The flags of every command that runs a model, and loading with them.
#pragma once

#include <memory>

#include "base/thread_team.h"
#include "cli/command.h"
#include "engine/engine.h"

namespace plm {

inline constexpr Argument kModelArgument = {
    "MODEL", "path of a GGUF file, or the name of a fetched model (plm models)", false};

inline constexpr Parameter kModelFlag[] = {
    {.name = "model", .aliases = "m", .summary = "the model, instead of the word MODEL", .type = ParameterType::text,
     .unit = "MODEL", .tag = Tag::model},
};

inline constexpr Parameter kEngineFlags[] = {
    {.name = "context", .aliases = "c, ctx_size, n_ctx",
     .summary = "most tokens of a text, prompt included; not given: what the model was trained with, at most 8192",
     .type = ParameterType::integer, .min = 1, .max = 1 << 24, .unit = "tokens", .tag = Tag::backend},
    {.name = "threads", .aliases = "t", .summary = "threads; not given: one per physical core",
     .type = ParameterType::integer, .min = 1, .max = ThreadTeam::kMostThreads, .tag = Tag::backend},
    {.name = "kernels", .summary = "vectorised kernels, or the plain ones they are judged by",
     .type = ParameterType::choice, .standard = "fast", .choices = "fast, reference", .tag = Tag::backend},
    {.name = "kv_type", .aliases = "cache_type_k, ctk, cache_type_v, ctv", .summary = "type of stored keys and values",
     .type = ParameterType::choice, .standard = "f32", .choices = "f32, f16", .tag = Tag::backend},
    {.name = "batch_rows", .aliases = "b, batch_size, ub, ubatch_size",
     .summary = "rows computed at once at most; changes speed, never a result", .type = ParameterType::integer,
     .standard = std::int64_t{256}, .min = 1, .max = 65536, .unit = "tokens", .tag = Tag::backend},
    {.name = "quiet", .aliases = "q", .summary = "nothing on stderr but errors", .type = ParameterType::boolean,
     .tag = Tag::pipe},
};

/// Path of the model that the call names by word or flag; takes the word off the arguments.
[[nodiscard]] Result<std::string> model_path(Invocation& call);

/// Loads it, with a progress bar, and prints its warnings. `most_sequences` at a time.
[[nodiscard]] Result<std::unique_ptr<Engine>> load_engine(Invocation& call, const std::string& path,
                                                          std::size_t most_sequences);

/// Bytes of memory the process has needed at most so far.
[[nodiscard]] std::size_t peak_memory_bytes();

/// All of standard input (at most 64 MiB), or of a file; `name` "-" means standard input.
[[nodiscard]] Result<std::string> read_text(const std::string& name);

/// "1,2,3" as token ids. Error (usage).
[[nodiscard]] Result<std::vector<TokenId>> parse_ids(std::string_view text);

}  // namespace plm
