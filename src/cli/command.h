// Commands: one file each in cli/commands/. A command declares its words and flags; parsing, help, completion and the
// reference page are derived from the declaration. Tested by tests/cli/test_command_line.cpp and tests/cli/test_plm.py.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/definition.h"
#include "base/error.h"
#include "base/settings.h"
#include "cli/terminal.h"

namespace plm {

/// A word without a dash, in order. Those that are required come first.
struct Argument {
  std::string_view name;  ///< as in the help: "MODEL"
  std::string_view summary;
  bool required = true;
  std::string_view choices = {};  ///< the words that are allowed, separated by ", "; empty: any
};

/// A flag as it was given.
struct GivenFlag {
  std::string_view name;  ///< of its parameter
  std::string text;
};

/// A command as it was called.
struct Invocation {
  Settings settings;
  std::vector<std::string> arguments;  ///< those given, in order
  std::vector<GivenFlag> flags;        ///< those given, in order
  Terminal& terminal;

  /// The argument number `index`, empty when it was not given.
  [[nodiscard]] std::string argument(std::size_t index) const {
    return index < arguments.size() ? arguments[index] : std::string();
  }
  /// All values of a flag that may be repeated.
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const {
    std::vector<std::string> values;
    for (const GivenFlag& flag : flags) {
      if (flag.name == name) values.push_back(flag.text);
    }
    return values;
  }
};

struct Command {
  Definition head;  ///< its parameters are the command's own flags
  std::span<const Argument> arguments = {};
  bool samples = false;      ///< takes the flags that the samplers declare, too
  bool fills_pages = false;  ///< takes the flags of decoders that fill masks, too
  bool searches = false;     ///< takes the flags of search methods, too
  bool runs_model = false;   ///< takes the flags of cli/engine_flags.h, too
  /// The exit code, or an error that is printed and gives its own.
  Result<int> (*run)(Invocation& call);
};

/// All commands, sorted by name (generated).
[[nodiscard]] std::span<const Command* const> commands();
[[nodiscard]] const Command* find_command(std::string_view name);

/// Flags that belong together in the help.
struct FlagGroup {
  std::string_view title;
  std::span<const Parameter> parameters;
};
/// Every flag of a command, by group; no group is empty.
[[nodiscard]] std::vector<FlagGroup> flag_groups(const Command& command);
/// The same in one list. The span lives as long as the program.
[[nodiscard]] std::span<const Parameter> command_parameters(const Command& command);

}  // namespace plm
