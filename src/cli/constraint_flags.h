// The flags that say what a text must fit, and the constraint they name. Tested by tests/cli/test_constraint.py.
#pragma once

#include <optional>

#include "cli/command.h"
#include "engine/engine.h"

namespace plm {

inline constexpr Parameter kGrammarFlag = {.name = "grammar",
                                           .aliases = "grammar_file",
                                           .summary = "the text must fit this grammar in GBNF, as llama.cpp reads it",
                                           .type = ParameterType::text,
                                           .unit = "FILE"};
inline constexpr Parameter kJsonSchemaFlag = {
    .name = "json_schema",
    .aliases = "j, json_schema_file",
    .summary = "the text must be JSON that is valid under this schema: a file, or the schema itself",
    .type = ParameterType::text,
    .unit = "FILE|JSON"};
inline constexpr Parameter kRegexFlag = {
    .name = "regex", .summary = "the whole text must match this regular expression", .type = ParameterType::text};
inline constexpr Parameter kChoiceFlag = {
    .name = "choice",
    .summary = "the text must be one of these, separated by commas (\\, is a comma in one); may be repeated",
    .type = ParameterType::text,
    .unit = "A,B"};
inline constexpr Parameter kLenientFlag = {
    .name = "lenient",
    .summary = "what a constraint says and cannot be enforced is a warning, not an error",
    .type = ParameterType::boolean};
inline constexpr Parameter kNoCloseFlag = {
    .name = "no_close",
    .summary = "let --max-tokens cut a text under a constraint, where it would be ended in time",
    .type = ParameterType::boolean};
inline constexpr Parameter kConstraintModeFlag = {
    .name = "constraint_mode",
    .summary =
        "mask: the model's own distribution among what fits; resample: draw freely, and again where it does not "
        "fit, as llama.cpp does",
    .type = ParameterType::choice,
    .standard = "mask",
    .choices = "mask, resample"};

/// What the flags say a text must fit; nullopt: nothing. Errors: usage (more than one, an empty one), bad_input (the
/// file cannot be read).
[[nodiscard]] Result<std::optional<ConstraintRequest>> chosen_constraint(const Invocation& call);

}  // namespace plm
