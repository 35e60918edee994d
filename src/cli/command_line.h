// From words to a command: parsing and dispatch, driven by the definitions.
//
// One or two dashes, dashes or underscores, the full name or an alias: "--max-tokens 5", "--max_tokens=5" and "-n 5"
// are the same flag. The word after a flag that takes a value is its value, whatever it looks like; "--" ends the
// flags. llama.cpp's flags that have no effect here are said, not refused. Tested by tests/cli/test_command_line.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace plm {

/// What a command line asks for.
struct ParsedCommand {
  std::vector<std::string> arguments;
  std::vector<GivenFlag> flags;
  std::vector<std::string> without_effect;  ///< sentences
  bool wants_help = false;
};

/// `words`: what follows the command's name. Errors (usage) name the word and the remedy.
[[nodiscard]] Result<ParsedCommand> parse_command(const Command& command, std::span<const std::string> words);

/// Runs the program: words without its name. Returns the exit code.
[[nodiscard]] int run_command_line(std::span<const std::string> words, Terminal& terminal);

}  // namespace plm
