// From words to a command: parsing, help, all derived from the definitions.
//
// CLI11 does the parsing; this adds what llama.cpp's users type: short flags of several letters ("-ngl") and flags that
// have no effect here, which are said and not refused. Tested by tests/cli/test_command_line.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace plm {

/// What a command line asks for.
struct ParsedCommand {
  const Command* command = nullptr;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> flags;  ///< name of the parameter, text
  std::vector<std::string> without_effect;                 ///< sentences
  bool wants_help = false;
};

/// `words`: what follows the command's name. Errors (usage) name the word and the remedy.
[[nodiscard]] Result<ParsedCommand> parse_command(const Command& command, std::span<const std::string> words);

/// "--max-tokens".
[[nodiscard]] std::string flag_name(std::string_view parameter_name);
/// The help of one command, and of the program.
[[nodiscard]] std::string command_help(const Command& command);
[[nodiscard]] std::string program_help();

/// Runs the program: words without its name. Returns the exit code.
[[nodiscard]] int run_command_line(std::span<const std::string> words, Terminal& terminal);

}  // namespace plm
