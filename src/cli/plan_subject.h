// What MODEL of the planning commands may be, and their flags. Tested by tests/cli/test_plan.py.
#pragma once

#include <string>

#include "cli/command.h"
#include "plan/model_plan.h"

namespace plm {

inline constexpr Argument kPlanArgument = {
    "MODEL", "a GGUF file, a Hugging Face folder, a fetched model, or config.json or a description of sizes alone"};

inline constexpr Parameter kPlanFlags[] = {
    {.name = "context",
     .aliases = "c, ctx_size, n_ctx",
     .summary = "tokens of a sequence; not given: what the model has positions for, up to 8192",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1 << 28,
     .unit = "tokens",
     .tag = Tag::backend},
    {.name = "kv_dtype",
     .aliases = "kv_type",
     .summary = "type of stored keys and values, or of each: f32, f16, bf16, q8_0, q4_0",
     .type = ParameterType::text,
     .standard = "f32",
     .unit = "K[/V]",
     .tag = Tag::backend},
    {.name = "parallel",
     .aliases = "np, sequences",
     .summary = "texts at a time",
     .type = ParameterType::integer,
     .standard = std::int64_t{1},
     .min = 1,
     .max = 4096,
     .tag = Tag::backend},
    {.name = "batch_rows",
     .aliases = "b, batch_size, ub, ubatch_size",
     .summary = "tokens computed at once at most",
     .type = ParameterType::integer,
     .standard = std::int64_t{256},
     .min = 1,
     .max = 65536,
     .unit = "tokens",
     .tag = Tag::backend},
    {.name = "weights",
     .summary = "type that weights are taken to be stored in, where there is no file of them",
     .type = ParameterType::text,
     .unit = "TYPE",
     .tag = Tag::model},
    {.name = "json", .summary = "one JSON object", .type = ParameterType::boolean, .tag = Tag::pipe},
};

/// Reads what the model says of itself; no weight is loaded. Errors (bad_input) name file and field.
[[nodiscard]] Result<PlanSubject> read_plan_subject(const Invocation& call);

/// What the flags say of the run. Error (usage).
[[nodiscard]] Result<RunSizes> run_sizes(const Settings& settings, const PlanSubject& subject);

}  // namespace plm
