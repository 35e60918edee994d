// plm completion: a script that lets a shell complete commands, flags and their values, written from the definitions.
// Tested by tests/cli/test_plm.py.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/help.h"

namespace plm {
namespace {

constexpr Argument kArguments[] = {{"SHELL", "bash, zsh or fish", true, "bash, zsh, fish"}};

std::string spaced(std::string_view list) { return fmt::format("{}", fmt::join(split_list(list), " ")); }

std::string all_names() {
  std::string names;
  for (const Command* command : commands()) names += fmt::format("{} ", command->head.name);
  return names + "--help --version";
}

std::string flags_of(const Command& command) {
  std::string flags = "--help";
  for (const Parameter& parameter : command_parameters(command)) flags += " " + flag_name(parameter.name);
  return flags;
}

// Where only some words are allowed: after a flag, or as the first word after the command.
struct Choice {
  std::string previous;  // the word before
  std::string words;     // separated by spaces
};
std::vector<Choice> choices_of(const Command& command) {
  std::vector<Choice> choices;
  if (!command.arguments.empty() && !command.arguments[0].choices.empty()) {
    choices.push_back({std::string(command.head.name), spaced(command.arguments[0].choices)});
  }
  for (const Parameter& parameter : command_parameters(command)) {
    if (!parameter.choices.empty()) choices.push_back({flag_name(parameter.name), spaced(parameter.choices)});
  }
  return choices;
}

// Branches of a shell's case over "COMMAND PREVIOUS", and of one over COMMAND.
std::string choice_branches() {
  std::string branches;
  for (const Command* command : commands()) {
    for (const Choice& choice : choices_of(*command)) {
      branches += fmt::format("    \"{} {}\") allowed=\"{}\" ;;\n", command->head.name, choice.previous, choice.words);
    }
  }
  return branches;
}

std::string flag_branches() {
  std::string branches;
  for (const Command* command : commands()) {
    branches += fmt::format("    {}) flags=\"{}\" ;;\n", command->head.name, flags_of(*command));
  }
  return branches;
}

std::string bash_script() {
  return fmt::format(
      "_plm() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" command=\"${{COMP_WORDS[1]}}\" allowed flags\n"
      "  case \"$command ${{COMP_WORDS[COMP_CWORD-1]}}\" in\n{}  esac\n"
      "  case \"$command\" in\n{}  esac\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then allowed=\"{}\"; fi\n"
      "  if [[ -z \"$allowed\" && \"$current\" == -* ]]; then allowed=\"$flags\"; fi\n"
      "  COMPREPLY=($(compgen -W \"$allowed\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _plm plm\n",  // default: where nothing fits, files
      choice_branches(), flag_branches(), all_names());
}

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string zsh_script() {
  std::string names;
  for (const Command* command : commands()) {
    names += fmt::format("    {}\n", quoted(fmt::format("{}:{}", command->head.name, command->head.summary)));
  }
  return fmt::format(
      "#compdef plm\n"
      "_plm() {{\n"
      "  local -a names\n  names=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n    _describe command names\n    return\n  fi\n"
      "  local command=$words[2] previous=$words[CURRENT-1] current=$words[CURRENT]\n"
      "  local allowed flags\n"
      "  case \"$command $previous\" in\n{}  esac\n"
      "  case \"$command\" in\n{}  esac\n"
      "  if [[ -z $allowed && $current == -* ]]; then allowed=$flags; fi\n"
      "  if [[ -n $allowed ]]; then compadd -- ${{=allowed}}; else _files; fi\n"
      "}}\n"
      "compdef _plm plm\n",
      names, choice_branches(), flag_branches());
}

std::string fish_script() {
  std::string script;
  for (const Command* command : commands()) {
    const std::string_view name = command->head.name;
    script +=
        fmt::format("complete -c plm -n __fish_use_subcommand -a {} -d {}\n", name, quoted(command->head.summary));
    const std::string line = fmt::format("complete -c plm -n '__fish_seen_subcommand_from {}'", name);
    for (const Argument& argument : command->arguments) {
      if (!argument.choices.empty()) script += fmt::format("{} -f -a '{}'\n", line, spaced(argument.choices));
    }
    for (const Parameter& parameter : command_parameters(*command)) {
      const std::string values = parameter.choices.empty() ? "" : fmt::format(" -x -a '{}'", spaced(parameter.choices));
      script += fmt::format("{} -l {}{} -d {}\n", line, flag_name(parameter.name).substr(2), values,
                            quoted(parameter.summary));
    }
  }
  return script;
}

Result<int> run(Invocation& call) {
  const std::string shell = call.argument(0);
  call.terminal.data(shell == "bash" ? bash_script() : shell == "zsh" ? zsh_script() : fish_script());
  return 0;
}

}  // namespace

extern constinit const Command command_completion = {
    .head = {.name = "completion",
             .summary = "prints a script that completes plm's words in a shell",
             .source = "the registries"},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
