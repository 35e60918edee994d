// Texts for the commands that read many at a time (embed, rerank, reward): one a flag, one a line of a file or of
// standard input, or a whole file. Tested by tests/cli/test_encoders.py.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/engine_flags.h"
#include "engine/hidden_rows.h"

namespace plm {

inline constexpr Argument kTextFileArgument = {"FILE", "one text a line; not given, and no --prompt: standard input",
                                               false};
inline constexpr Parameter kTextFlag = {.name = "prompt",
                                        .aliases = "p, text",
                                        .summary = "a text; may be repeated",
                                        .type = ParameterType::text,
                                        .tag = Tag::pipe};
inline constexpr Parameter kWholeFlag = {.name = "whole",
                                         .summary = "the file, or standard input, is one text",
                                         .type = ParameterType::boolean,
                                         .tag = Tag::pipe};
inline constexpr Parameter kNoTruncateFlag = {.name = "no_truncate",
                                              .summary = "refuse texts that are longer than the model reads",
                                              .type = ParameterType::boolean,
                                              .tag = Tag::pipe};
inline constexpr Parameter kMaxTokensFlag = {
    .name = "max_tokens",
    .aliases = "max_length",
    .summary = "tokens of a text that are read at most; not given: as the model was made for",
    .type = ParameterType::integer,
    .min = 1,
    .max = 1 << 24,
    .unit = "tokens",
    .tag = Tag::pipe};

/// The texts that the call gives, in order. An empty line is an empty text. Errors: usage (both ways at once, or no
/// text at all), bad_input.
[[nodiscard]] Result<std::vector<std::string>> read_texts(const Invocation& call, std::size_t file_argument = 1);

/// A progress bar named `what`, and an ear for Ctrl-C.
[[nodiscard]] ReadingHooks reading_hooks(Terminal& terminal, std::string_view what);

/// Warns when texts were cut: `cut` of `all`.
void warn_of_cuts(Terminal& terminal, std::size_t cut, std::size_t all);

/// The beginning of a text on one line, for tables.
[[nodiscard]] std::string preview(std::string_view text);

}  // namespace plm
