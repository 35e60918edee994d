#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "cli/version.h"

namespace plm {
namespace {

// Flags of llama.cpp's tools that mean nothing here. Scripts carry them along, so they are accepted and said.
struct FlagWithoutEffect {
  std::string_view names;  // without dashes, separated by ", "
  bool takes_value;
  std::string_view reason;
};
constexpr FlagWithoutEffect kWithoutEffect[] = {
    {"ngl, n-gpu-layers, gpu-layers, mg, main-gpu, sm, split-mode, ts, tensor-split, dev, device", true,
     "this version computes on the CPU only"},
    {"fa, flash-attn", true, "attention is always computed page by page"},
    {"cnv, conversation, no-cnv, no-conversation, st, single-turn", false, "run continues text and never waits for more"},
    {"mlock, no-mmap, no-warmup, numa, no-kv-offload, nkvo", false, "weights are repacked into memory of their own"},
    {"no-display-prompt, simple-io", false, "the prompt is never printed"},
};

const FlagWithoutEffect* find_without_effect(std::string_view name) {
  for (const FlagWithoutEffect& flag : kWithoutEffect) {
    const auto names = split_list(flag.names);
    if (std::find(names.begin(), names.end(), name) != names.end()) return &flag;
  }
  return nullptr;
}

// All spellings of a parameter for CLI11: "--max-tokens,-n,--predict". A name that an earlier one has taken is left out.
std::string spellings(const Parameter& parameter, std::vector<std::string>& taken) {
  std::vector<std::string_view> names = split_list(parameter.aliases);
  names.insert(names.begin(), parameter.name);
  std::string all;
  for (const std::string_view name : names) {
    const std::string spelling = name.size() == 1 ? fmt::format("-{}", name) : flag_name(name);
    if (std::find(taken.begin(), taken.end(), spelling) != taken.end()) continue;
    taken.push_back(spelling);
    all += (all.empty() ? "" : ",") + spelling;
  }
  return all;
}

// Drops flags without effect and turns "-ngl" and "--max_tokens" into what CLI11 understands.
std::vector<std::string> normalized(const Command& command, std::span<const std::string> words, ParsedCommand& parsed) {
  std::vector<std::string> result;
  const Settings known(command_parameters(command));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const std::size_t dashes = word.starts_with("--") ? 2 : word.starts_with("-") ? 1 : 0;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    const FlagWithoutEffect* ignored = dashes > 0 ? find_without_effect(name) : nullptr;
    if (ignored != nullptr && known.find(name) == nullptr) {
      parsed.without_effect.push_back(fmt::format("{} has no effect: {}", word, ignored->reason));
      const bool value_follows = ignored->takes_value && equals == std::string::npos && i + 1 < words.size() &&
                                 !words[i + 1].starts_with("-");
      if (value_follows) ++i;
    } else if (dashes > 0 && name.size() > 1 && known.find(name) != nullptr) {
      result.push_back(flag_name(name) + (equals == std::string::npos ? "" : word.substr(equals)));
    } else {
      result.push_back(word);
    }
  }
  return result;
}

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kWidth = 96;
  std::string result;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (column + word.size() + 1 > kWidth && column > indent) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    at = end + 1;
  }
  return result;
}

std::string two_columns(std::string_view left, std::string_view right) {
  constexpr std::size_t kIndent = 34;
  if (left.size() + 4 > kIndent) return fmt::format("  {}\n{:{}}{}\n", left, "", kIndent, wrapped(right, kIndent));
  return fmt::format("  {:<{}}{}\n", left, kIndent - 2, wrapped(right, kIndent));
}

std::string parameter_help(const Parameter& parameter) {
  std::vector<std::string_view> shorts;
  for (const std::string_view alias : split_list(parameter.aliases)) {
    if (alias.size() == 1) shorts.push_back(alias);
  }
  std::string left = shorts.empty() ? "    " : fmt::format("-{}, ", shorts.front());
  left += flag_name(parameter.name);
  if (parameter.type == ParameterType::integer) left += " N";
  if (parameter.type == ParameterType::real) left += " X";
  if (parameter.type == ParameterType::choice) left += " NAME";
  if (parameter.type == ParameterType::text) {
    left += fmt::format(" {}", parameter.unit.empty() ? "TEXT" : parameter.unit);
  }
  std::string right(parameter.summary);
  const std::string standard = value_text(parameter.standard);
  const std::string allowed = allowed_text(parameter);
  std::vector<std::string> facts;
  if (parameter.type == ParameterType::choice) facts.push_back(allowed);
  if (!standard.empty() && parameter.type != ParameterType::boolean) facts.push_back("default " + standard);
  if (!facts.empty()) right += fmt::format(" [{}]", fmt::join(facts, "; "));
  return two_columns(left, right);
}

std::string usage_line(const Command& command) {
  std::string line = fmt::format("usage: plm {}", command.head.name);
  for (const Argument& argument : command.arguments) {
    line += argument.required ? fmt::format(" {}", argument.name) : fmt::format(" [{}]", argument.name);
  }
  if (!command_parameters(command).empty()) line += " [options]";
  return line;
}

// The command whose name is closest, for a slip of the fingers.
std::string nearest_command(std::string_view name) {
  for (const Command* command : commands()) {
    const std::string_view own = command->head.name;
    if (own.starts_with(name) || name.starts_with(own)) return fmt::format("; did you mean plm {}?", own);
    const std::size_t common = static_cast<std::size_t>(
        std::mismatch(own.begin(), own.end(), name.begin(), name.end()).first - own.begin());
    if (common >= 3) return fmt::format("; did you mean plm {}?", own);
  }
  return "; plm --help lists the commands";
}

}  // namespace

const Command* find_command(std::string_view name) {
  for (const Command* command : commands()) {
    if (is_named(name, command->head.name, command->head.aliases)) return command;
  }
  return nullptr;
}

std::span<const Parameter> command_parameters(const Command& command) {
  static const std::map<const Command*, std::vector<Parameter>> all = [] {
    std::map<const Command*, std::vector<Parameter>> lists;
    for (const Command* each : commands()) {
      std::vector<Parameter>& list = lists[each];
      list.assign(each->head.parameters.begin(), each->head.parameters.end());
      if (each->more_parameters == nullptr) continue;
      const auto more = each->more_parameters();
      list.insert(list.end(), more.begin(), more.end());
    }
    return lists;
  }();
  return all.at(&command);
}

std::string flag_name(std::string_view parameter_name) {
  std::string name = fmt::format("--{}", parameter_name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

Result<ParsedCommand> parse_command(const Command& command, std::span<const std::string> words) {
  ParsedCommand parsed;
  parsed.command = &command;
  CLI::App app;
  app.set_help_flag();
  app.add_flag("-h,--help", parsed.wants_help);
  std::vector<std::string> taken = {"-h", "--help"};
  for (const Parameter& parameter : command_parameters(command)) {
    const auto remember = [&parsed, &parameter](const std::string& text) {
      parsed.flags.emplace_back(parameter.name, text);
    };
    const std::string names = spellings(parameter, taken);
    if (parameter.type == ParameterType::boolean) {
      app.add_flag_callback(names, [remember] { remember("true"); });
    } else {
      app.add_option(names)->each(remember)->take_all()->allow_extra_args(false);
    }
  }
  app.add_option("arguments", parsed.arguments);
  std::vector<std::string> arguments = normalized(command, words, parsed);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    std::string reason = error.what();
    if (!reason.empty()) reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
    return fail(ErrorKind::usage, "{}; plm {} --help lists what there is", printable(reason), command.head.name);
  }
  if (parsed.wants_help) return parsed;
  if (parsed.arguments.size() > command.arguments.size()) {
    return fail(ErrorKind::usage, "plm {}: \"{}\" is one word too many; {}", command.head.name,
                printable(parsed.arguments[command.arguments.size()], 80), usage_line(command));
  }
  return parsed;
}

std::string command_help(const Command& command) {
  std::string text = fmt::format("plm {}: {}\n\n{}\n", command.head.name, command.head.summary, usage_line(command));
  if (!command.arguments.empty()) text += "\n";
  for (const Argument& argument : command.arguments) text += two_columns(argument.name, argument.summary);
  const auto parameters = command_parameters(command);
  if (!parameters.empty()) text += "\noptions\n";
  for (const Parameter& parameter : parameters) text += parameter_help(parameter);
  return text;
}

std::string program_help() {
  std::string text =
      "plm: runs language models that write one token after another, and lets you see what every control does\n\n"
      "usage: plm COMMAND ...\n\ncommands\n";
  for (const Command* command : commands()) text += two_columns(command->head.name, command->head.summary);
  text +=
      "\nfirst steps\n"
      "  plm fetch smollm2-135m\n"
      "  plm run smollm2-135m -p \"The capital of France is\" -n 32\n"
      "\nplm COMMAND --help shows what a command takes\n";
  return text;
}

int run_command_line(std::span<const std::string> words, Terminal& terminal) {
  const auto finish = [&terminal](const Error& error) {
    terminal.error(error);
    return static_cast<int>(error.kind);
  };
  if (words.empty()) {
    terminal.line(program_help());
    return static_cast<int>(ErrorKind::usage);
  }
  if (words[0] == "--version" || words[0] == "-V") return terminal.data(fmt::format("plm {}\n", kVersion)) ? 0 : 1;
  const bool asks_help = words[0] == "--help" || words[0] == "-h" || words[0] == "help";
  const Command* command = find_command(words[0]);
  if (asks_help) {
    command = words.size() > 1 ? find_command(words[1]) : nullptr;
    return terminal.data(command != nullptr ? command_help(*command) : program_help()) ? 0 : 1;
  }
  if (command == nullptr) {
    return finish({ErrorKind::usage, fmt::format("\"{}\" is not a command{}", printable(words[0], 80),
                                                 nearest_command(words[0]))});
  }
  auto parsed = parse_command(*command, words.subspan(1));
  if (!parsed.has_value()) return finish(parsed.error());
  if (parsed->wants_help) return terminal.data(command_help(*command)) ? 0 : 1;
  Invocation call{Settings(command_parameters(*command)), parsed->arguments, parsed->flags, terminal};
  for (const auto& [name, text] : call.flags) {
    if (auto set = call.settings.set_text(name, text); !set.has_value()) {
      return finish({ErrorKind::usage, "--" + set.error().message});
    }
  }
  for (const std::string& sentence : parsed->without_effect) terminal.note(sentence);
  const Result<int> code = command->run(call);
  return code.has_value() ? *code : finish(code.error());
}

}  // namespace plm
