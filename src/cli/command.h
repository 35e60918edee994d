// Commands: one file each in cli/commands/. A command declares its arguments and flags; parsing, help, completion and the
// reference page are derived from the declaration. Tested by tests/cli/test_command_line.cpp and tests/cli/test_plm.py.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/definition.h"
#include "base/error.h"
#include "base/settings.h"
#include "cli/terminal.h"

namespace plm {

/// A word without a dash, in order.
struct Argument {
  std::string_view name;  ///< as in the help: "MODEL"
  std::string_view summary;
  bool required = true;
};

/// A command as it was called.
struct Invocation {
  Settings settings;
  std::vector<std::string> arguments;                       ///< those given, in order
  std::vector<std::pair<std::string, std::string>> flags;   ///< every flag as given: name of its parameter, text
  Terminal& terminal;

  /// The argument number `index`, empty when it was not given.
  [[nodiscard]] std::string argument(std::size_t index) const {
    return index < arguments.size() ? arguments[index] : std::string();
  }
  /// All values of a flag that may be repeated.
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const {
    std::vector<std::string> values;
    for (const auto& [flag, text] : flags) {
      if (flag == name) values.push_back(text);
    }
    return values;
  }
};

struct Command {
  Definition head;
  std::span<const Argument> arguments = {};
  /// Flags that other rooms declare (samplers), behind those in head.parameters; null: none.
  std::span<const Parameter> (*more_parameters)() = nullptr;
  /// The exit code, or an error that is printed and gives its own.
  Result<int> (*run)(Invocation& call);
};

/// All commands, sorted by name (generated).
[[nodiscard]] std::span<const Command* const> commands();
[[nodiscard]] const Command* find_command(std::string_view name);
/// Every flag of a command. The span lives as long as the program.
[[nodiscard]] std::span<const Parameter> command_parameters(const Command& command);

/// Parameter lists put together at compile time.
template <std::size_t... N>
[[nodiscard]] constexpr auto joined(const Parameter (&... lists)[N]) {
  std::array<Parameter, (N + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& list) {
    for (const Parameter& parameter : list) all[at++] = parameter;
  };
  (append(lists), ...);
  return all;
}

}  // namespace plm
