// plm completion: a script that lets a shell complete commands and flags, written from the definitions.
// Tested by tests/cli/test_plm.py.
#include "cli/command.h"
#include "cli/command_line.h"

namespace plm {
namespace {

constexpr Argument kArguments[] = {{"SHELL", "bash, zsh or fish", true}};

std::string flags_of(const Command& command) {
  std::string flags = "--help";
  for (const Parameter& parameter : command_parameters(command)) flags += " " + flag_name(parameter.name);
  return flags;
}

std::string all_names() {
  std::string names;
  for (const Command* command : commands()) names += fmt::format("{}{}", names.empty() ? "" : " ", command->head.name);
  return names;
}

std::string bash_script() {
  std::string cases;
  for (const Command* command : commands()) {
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->head.name, flags_of(*command));
  }
  return fmt::format(
      "_plm() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n"
      "  if [[ \"$current\" == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _plm plm\n",
      all_names(), cases);
}

// Single quotes inside a summary would end the shell's string.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string zsh_script() {
  std::string names;
  std::string cases;
  for (const Command* command : commands()) {
    names += fmt::format("    {}\n", quoted(fmt::format("{}:{}", command->head.name, command->head.summary)));
    cases += fmt::format("    {}) compadd -- {} ;;\n", command->head.name, flags_of(*command));
  }
  return fmt::format(
      "#compdef plm\n"
      "_plm() {{\n"
      "  local -a names\n  names=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n    _describe command names\n    return\n  fi\n"
      "  if [[ $words[CURRENT] != -* ]]; then\n    _files\n    return\n  fi\n"
      "  case $words[2] in\n{}  esac\n"
      "}}\n"
      "compdef _plm plm\n",
      names, cases);
}

std::string fish_script() {
  std::string script;
  for (const Command* command : commands()) {
    script += fmt::format("complete -c plm -n __fish_use_subcommand -a {} -d {}\n", command->head.name,
                          quoted(command->head.summary));
    for (const Parameter& parameter : command_parameters(*command)) {
      script += fmt::format("complete -c plm -n '__fish_seen_subcommand_from {}' -l {} -d {}\n", command->head.name,
                            flag_name(parameter.name).substr(2), quoted(parameter.summary));
    }
  }
  return script;
}

Result<int> run(Invocation& call) {
  const std::string shell = call.argument(0);
  if (shell == "bash") return call.terminal.data(bash_script()) ? 0 : 1;
  if (shell == "zsh") return call.terminal.data(zsh_script()) ? 0 : 1;
  if (shell == "fish") return call.terminal.data(fish_script()) ? 0 : 1;
  return fail(ErrorKind::usage, "plm completion: expected bash, zsh or fish; try: source <(plm completion bash)");
}

}  // namespace

extern constinit const Command command_completion = {
    .head = {.name = "completion",
             .summary = "prints a script that lets bash, zsh or fish complete plm's commands and flags",
             .source = "the registries"},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
