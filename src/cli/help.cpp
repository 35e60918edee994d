#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace plm {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kIndent = 26;  // of the right column

// `text` broken at spaces, long words behind semicolons, into lines that begin at column `indent`; the first one is not
// indented here.
std::string wrapped(std::string_view text, std::size_t indent) {
  const std::size_t width = kWidth - indent;
  std::string lines;
  while (text.size() > width) {
    const std::size_t space = text.substr(0, width + 1).rfind(' ');
    if (space != std::string_view::npos) {
      lines += fmt::format("{}\n{:{}}", text.substr(0, space), "", indent);
      text.remove_prefix(space + 1);
      continue;
    }
    const std::size_t break_at = text.substr(0, width).rfind(';');
    if (break_at == std::string_view::npos) break;  // one long word
    lines += fmt::format("{}\n{:{}}", text.substr(0, break_at + 1), "", indent);
    text.remove_prefix(break_at + 1);
  }
  return lines + std::string(text);
}

std::string two_columns(std::string_view left, std::string_view right) {
  const std::string_view gap = left.size() + 4 > kIndent ? "\n" : "";
  const std::size_t padding = gap.empty() ? kIndent - 2 - left.size() : kIndent;
  return fmt::format("  {}{}{:{}}{}\n", left, gap, "", padding, wrapped(right, kIndent));
}

std::string parameter_help(const Parameter& parameter) {
  std::string left = "    ";
  for (const std::string_view alias : split_list(parameter.aliases)) {
    if (alias.size() == 1) left = fmt::format("-{}, ", alias);
  }
  left += fmt::format("{} {}", flag_name(parameter.name), flag_placeholder(parameter));
  left.resize(left.find_last_not_of(' ') + 1);

  std::vector<std::string> facts;
  if (parameter.type == ParameterType::choice) facts.push_back(allowed_text(parameter));
  const std::string standard = value_text(parameter.standard);
  if (!standard.empty() && parameter.type != ParameterType::boolean) facts.push_back("default " + standard);
  std::string right(parameter.summary);
  if (!facts.empty()) right += fmt::format(" [{}]", fmt::join(facts, "; "));
  return two_columns(left, right);
}

}  // namespace

std::string flag_name(std::string_view parameter_name) {
  std::string name = fmt::format("--{}", parameter_name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string_view flag_placeholder(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::boolean: return "";
    case ParameterType::integer: return "N";
    case ParameterType::real: return "X";
    case ParameterType::choice: return "NAME";
    case ParameterType::text: return parameter.unit.empty() ? "TEXT" : parameter.unit;
  }
  return "";
}

std::string usage_line(const Command& command) {
  std::string line = fmt::format("usage: plm {}", command.head.name);
  for (const Argument& argument : command.arguments) {
    line += argument.required ? fmt::format(" {}", argument.name) : fmt::format(" [{}]", argument.name);
  }
  return command_parameters(command).empty() ? line : line + " [options]";
}

std::string command_help(const Command& command) {
  std::string text = wrapped(fmt::format("plm {}: {}", command.head.name, command.head.summary), 0);
  text += fmt::format("\n\n{}\n", usage_line(command));
  if (!command.arguments.empty()) text += "\n";
  for (const Argument& argument : command.arguments) text += two_columns(argument.name, argument.summary);
  for (const FlagGroup& group : flag_groups(command)) {
    text += fmt::format("\n{}\n", group.title);
    for (const Parameter& parameter : group.parameters) text += parameter_help(parameter);
  }
  return text;
}

std::string program_help() {
  std::string text =
      "plm: runs language models, and lets you see and set everything that decides\n"
      "what they write\n\n"
      "usage: plm COMMAND ...\n\ncommands\n";
  for (const Command* command : commands()) text += two_columns(command->head.name, command->head.summary);
  text +=
      "\nfirst steps\n"
      "  plm fetch smollm2-135m\n"
      "  plm run smollm2-135m -p \"The capital of France is\" -n 32\n"
      "\nplm COMMAND --help shows what a command takes\n";
  return text;
}

}  // namespace plm
