// The help, written from the definitions. Tested by tests/cli/test_help.cpp.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"

namespace plm {

/// "--max-tokens".
[[nodiscard]] std::string flag_name(std::string_view parameter_name);
/// What stands for the value of a flag: "N", "FILE"; empty for a flag without one.
[[nodiscard]] std::string_view flag_placeholder(const Parameter& parameter);

/// "usage: plm score MODEL [FILE] [options]".
[[nodiscard]] std::string usage_line(const Command& command);
/// The help of one command, and of the program. No line is longer than 80 columns.
[[nodiscard]] std::string command_help(const Command& command);
[[nodiscard]] std::string program_help();

}  // namespace plm
