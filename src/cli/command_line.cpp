#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/utf8.h"
#include "cli/engine_flags.h"
#include "cli/help.h"
#include "cli/version.h"

namespace plm {
namespace {

// Flags of llama.cpp's tools that mean nothing here. Scripts carry them along, so they are accepted and said.
struct FlagWithoutEffect {
  std::string_view names;   // without dashes, separated by ", "
  std::string_view values;  // empty: takes none; "*": takes any; else the next word is taken if it is one of these
  std::string_view reason;
};
constexpr FlagWithoutEffect kWithoutEffect[] = {
    {"ngl, n_gpu_layers, gpu_layers, mg, main_gpu, sm, split_mode, ts, tensor_split, dev, device", "*",
     "this version computes on the CPU only"},
    {"nkvo, no_kv_offload", "", "this version computes on the CPU only"},
    {"fa, flash_attn", "on, off, auto, 0, 1", "attention is always computed page by page"},
    {"cnv, conversation, no_cnv, no_conversation, st, single_turn", "",
     "run continues one text and never asks for more"},
    {"mlock, no_mmap, no_warmup", "", "weights are mapped, or repacked into memory of their own"},
    {"numa", "*", "threads are not bound to memory nodes"},
    {"no_display_prompt, simple_io", "", "the prompt is never printed"},
};

bool contains(std::string_view list, std::string_view item) {
  const auto items = split_list(list);
  return std::find(items.begin(), items.end(), item) != items.end();
}

const FlagWithoutEffect* find_without_effect(std::string_view name) {
  const auto* found = std::find_if(std::begin(kWithoutEffect), std::end(kWithoutEffect),
                                   [&](const FlagWithoutEffect& flag) { return is_named(name, "*", flag.names); });
  return found == std::end(kWithoutEffect) ? nullptr : found;
}

// Letters that must be inserted, removed or exchanged to make `b` of `a` (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// The name that was probably meant, for a slip of the fingers: two letters off at most, or a beginning of it.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> names) {
  std::optional<std::string_view> best;
  std::size_t least = 3;
  for (const std::string_view name : names) {
    const bool is_beginning = word.size() >= 3 && (name.starts_with(word) || word.starts_with(name));
    const std::size_t distance = is_beginning ? 1 : edit_distance(word, name);
    if (distance < least && distance < name.size()) {
      least = distance;
      best = name;
    }
  }
  return best;
}

std::string suggestion_for_command(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Command* command : commands()) names.push_back(command->head.name);
  const auto meant = nearest(word, names);
  return meant.has_value() ? fmt::format("did you mean plm {}?", *meant) : "plm --help lists the commands";
}

// Reads the words of one command, front to back.
class Reader {
 public:
  Reader(const Command& command, std::span<const std::string> words)
      : command_(command), known_(command_parameters(command)), words_(words) {}

  Result<ParsedCommand> read() {
    bool flags_ended = false;
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (flags_ended || word == "-" || !word.starts_with('-')) {
        parsed_.arguments.push_back(word);
      } else if (word == "--") {
        flags_ended = true;
      } else if (word == "--help" || word == "-h") {
        parsed_.wants_help = true;
      } else {
        PLM_TRY(read_flag(word));
      }
    }
    if (!parsed_.wants_help) PLM_TRY(check_arguments());
    return std::move(parsed_);
  }

 private:
  Result<void> read_flag(const std::string& word) {
    const std::size_t begin = word.find_first_not_of('-');
    const std::size_t equals = word.find('=');
    const std::string name = begin == std::string::npos ? "" : word.substr(begin, equals - begin);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    if (const Parameter* parameter = known_.find(name); parameter != nullptr) {
      return take_flag(*parameter, word, std::move(value));
    }
    const FlagWithoutEffect* ignored = command_.runs_model ? find_without_effect(name) : nullptr;
    if (ignored == nullptr) return unknown_flag(word.substr(0, equals), name);
    parsed_.without_effect.push_back(fmt::format("{} has no effect: {}", word.substr(0, equals), ignored->reason));
    if (!value.has_value() && at_ < words_.size() && takes_next_word(*ignored)) ++at_;
    return {};
  }

  [[nodiscard]] bool takes_next_word(const FlagWithoutEffect& flag) const {
    return flag.values == "*" || contains(flag.values, words_[at_]);
  }

  Result<void> take_flag(const Parameter& parameter, const std::string& word, std::optional<std::string> value) {
    if (!value.has_value() && parameter.type == ParameterType::boolean) value = "true";
    if (!value.has_value()) {
      if (at_ == words_.size()) {
        return fail(ErrorKind::usage, "{} needs a value: {}", word, flag_placeholder(parameter));
      }
      value = words_[at_++];
    }
    if (parameter.name == kModelFlag.name) {
      parsed_.arguments.insert(parsed_.arguments.begin(), *value);
    } else {
      parsed_.flags.push_back({parameter.name, std::move(*value)});
    }
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> unknown_flag(std::string_view word, std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Parameter& parameter : known_.parameters()) names.push_back(parameter.name);
    const auto meant = nearest(name, names);
    return fail(ErrorKind::usage, "{}: unknown flag; {}plm {} --help lists all", printable(word, 80),
                meant.has_value() ? fmt::format("did you mean {}? ", flag_name(*meant)) : "", command_.head.name);
  }

  Result<void> check_arguments() const {
    const auto& given = parsed_.arguments;
    const auto wanted = command_.arguments;
    if (given.size() > wanted.size()) {
      return fail(ErrorKind::usage, "\"{}\" is one word too many; {}", printable(given[wanted.size()], 80),
                  usage_line(command_));
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Argument& argument = wanted[i];
      if (i >= given.size()) {
        if (!argument.required) break;
        return fail(ErrorKind::usage, "{} is missing; {}", argument.name, usage_line(command_));
      }
      if (!argument.choices.empty() && !contains(argument.choices, given[i])) {
        return fail(ErrorKind::usage, "{}: found \"{}\", expected one of {}", argument.name, printable(given[i], 80),
                    argument.choices);
      }
    }
    return {};
  }

  const Command& command_;
  const Settings known_;
  std::span<const std::string> words_;
  std::size_t at_ = 0;  // the next word
  ParsedCommand parsed_;
};

Result<void> apply_flags(Invocation& call) {
  for (const GivenFlag& flag : call.flags) {
    const auto set = call.settings.set_text(flag.name, flag.text);
    if (set.has_value()) continue;
    // The message begins with the parameter's name; here it is written as a flag.
    const std::string& message = set.error().message;
    return fail(ErrorKind::usage, "{}{}", flag_name(flag.name), message.substr(flag.name.size()));
  }
  return {};
}

Result<int> run_command(const Command& command, std::span<const std::string> words, Terminal& terminal) {
  PLM_TRY_ASSIGN(ParsedCommand parsed, parse_command(command, words));
  if (parsed.wants_help) {
    terminal.data(command_help(command));
    return 0;
  }
  Invocation call{Settings(command_parameters(command)), std::move(parsed.arguments), std::move(parsed.flags),
                  terminal};
  PLM_TRY(apply_flags(call));
  for (const std::string& sentence : parsed.without_effect) terminal.note(sentence);
  return command.run(call);
}

Result<int> run_words(std::span<const std::string> words, Terminal& terminal) {
  if (words.empty()) {
    terminal.line(program_help());
    return static_cast<int>(ErrorKind::usage);
  }
  std::string first = words.front();
  words = words.subspan(1);
  if (first == "--version" || first == "-V") {
    terminal.data(fmt::format("plm {}\n", kVersion));
    return 0;
  }
  const bool wants_help = first == "--help" || first == "-h" || first == "help";
  if (wants_help && words.empty()) {
    terminal.data(program_help());
    return 0;
  }
  if (wants_help) first = words.front();
  const Command* command = find_command(first);
  if (command == nullptr) {
    return fail(ErrorKind::usage, "\"{}\" is not a command; {}", printable(first, 80), suggestion_for_command(first));
  }
  if (!wants_help) return run_command(*command, words, terminal);
  terminal.data(command_help(*command));
  return 0;
}

}  // namespace

Result<ParsedCommand> parse_command(const Command& command, std::span<const std::string> words) {
  return Reader(command, words).read();
}

int run_command_line(std::span<const std::string> words, Terminal& terminal) {
  Result<int> code = run_words(words, terminal);
  // Commands end their work when what they write is lost, which they may take for an interruption.
  const bool may_be_for_output = code.has_value() || code.error().kind == ErrorKind::interrupted;
  if (may_be_for_output && terminal.failure().has_value()) code = tl::unexpected<Error>(*terminal.failure());
  if (code.has_value()) return *code;
  terminal.error(code.error());
  return static_cast<int>(code.error().kind);
}

}  // namespace plm
