// plm chat: a conversation in the terminal. Answers go to stdout, all else to stderr; when standard input is no
// terminal, each of its lines is a message. Tested by tests/cli/test_chat.py.
#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/chat_flags.h"
#include "cli/chat_session.h"
#include "cli/command.h"
#include "cli/constraint_flags.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/model_store.h"
#include "cli/text_flags.h"
#include "cli/thinking_flags.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "system",
     .aliases = "sys, system_prompt",
     .summary = "what the model is told before the conversation",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "prompt", .aliases = "p", .summary = "the first message", .type = ParameterType::text, .tag = Tag::pipe},
    kChatTemplateFlag,
    kThinkFlag,
    kThinkScopeFlag,
    kThinkGraceFlag,
    kThinkSoftFlag,
    kThinkMessageFlag,
    kThinkTagsFlag,
    kTemplateVariablesFlag,
    kThinkingFlag,
    kSpecialInMessagesFlag,
    {.name = "max_tokens",
     .aliases = "n, predict, n_predict",
     .summary = "tokens of one answer at most; -1: as many as the context holds",
     .type = ParameterType::integer,
     .standard = std::int64_t{-1},
     .min = -1,
     .max = 1 << 24,
     .unit = "tokens"},
    kSeedFlag,
    kStopFlag,
    kGrammarFlag,
    kJsonSchemaFlag,
    kRegexFlag,
    kChoiceFlag,
    kLenientFlag,
    kNoCloseFlag,
    kConstraintModeFlag,
    kNoModelDefaultsFlag,
};
constexpr Argument kArguments[] = {kModelArgument};

// What a line that begins with a slash means.
struct SlashCommand {
  std::string_view names;  // the first is shown
  std::string_view rest;   // what may follow, for the help
  std::string_view summary;
};
constexpr SlashCommand kSlashCommands[] = {
    {"help, ?", "", "this list"},
    {"exit, quit, bye", "", "ends the program, as Ctrl-D does"},
    {"again, regenerate, regen, retry", "", "another answer to the last message"},
    {"edit", "[TEXT]", "the last message anew; without TEXT the old words are there to be changed"},
    {"undo", "", "takes the last message and its answer back"},
    {"continue", "", "the model goes on with its last answer"},
    {"clear, reset, new", "", "a new conversation with the same system prompt"},
    {"system", "[TEXT]", "sets the system prompt, or removes it"},
    {"think", "on|off|auto", "whether the model thinks before it answers"},
    {"info", "", "template, system prompt, stop tokens, context"},
    {"show, history", "", "the conversation as the model sees it, control tokens and all"},
    {"save", "FILE", "writes the messages as JSON"},
    {"load", "FILE", "reads them"},
};

const SlashCommand* find_slash_command(std::string_view word) {
  for (const SlashCommand& command : kSlashCommands) {
    const auto names = split_list(command.names);
    if (std::find(names.begin(), names.end(), word) != names.end()) return &command;
  }
  return nullptr;
}

std::string slash_help() {
  std::string text = "Lines that end with \\ go on in the next one; \"\"\" begins and ends a message of many lines.\n";
  for (const SlashCommand& command : kSlashCommands) {
    const std::string names = "/" + std::string(split_list(command.names).front());
    text += fmt::format("  {:<22}{}\n", names + (command.rest.empty() ? "" : " ") + std::string(command.rest),
                        command.summary);
  }
  text.pop_back();
  return text;
}

class Chat {
 public:
  Chat(Invocation& call, Engine& engine, const ChatTemplate& chat_template, ChatPolicy policy)
      : call_(call),
        terminal_(call.terminal),
        engine_(engine),
        template_(chat_template),
        session_(engine, chat_template, std::move(policy)),
        is_interactive_(call.terminal.input_is_terminal()),
        editor_(is_interactive_) {}

  Result<int> run();

 private:
  enum class Next : unsigned char { read, answer, leave };

  std::optional<std::string> next_message();
  std::optional<std::string> read_message();
  Result<Next> heed(const std::string& message);
  Result<Next> obey(std::string_view line);
  Result<Next> obey_edit(std::string_view text);
  Result<void> answer();
  void show(const ThinkingSplitter::Parts& parts);
  void show_statistics(const ChatAnswer& answer);
  Result<void> show_prompt();
  void show_picture();
  Result<void> set_thinking(std::string_view word);
  Result<void> save(const std::string& name);
  Result<void> load(const std::string& name);

  Invocation& call_;
  Terminal& terminal_;
  Engine& engine_;
  const ChatTemplate& template_;
  ChatSession session_;
  bool is_interactive_;
  LineEditor editor_;
  std::string prefill_;       // of the next message
  bool is_thinking_ = false;  // that is what was shown last
};

Result<int> Chat::run() {
  PLM_TRY(apply_chat_flags(call_.settings, session_.conversation()));
  session_.set_system(call_.settings.was_given("system") ? call_.settings.text("system") : "");
  show_picture();
  if (is_interactive_) terminal_.line("\nType a message, or /help.");
  stop_between_batches();
  std::optional<std::string> message;
  if (call_.settings.was_given("prompt")) message = call_.settings.text("prompt");
  if (!message.has_value()) message = next_message();
  for (; message.has_value(); message = next_message()) {
    const Result<Next> next = heed(*message);
    if (next.has_value() && *next == Next::leave) break;
    const Result<void> outcome = !next.has_value()       ? tl::unexpected<Error>(next.error())
                                 : *next == Next::answer ? answer()
                                                         : Result<void>{};
    if (terminal_.failure().has_value()) break;
    if (outcome.has_value()) continue;
    // What a person typed can be typed again; a script wants to know.
    if (!is_interactive_ || outcome.error().kind != ErrorKind::usage) return tl::unexpected<Error>(outcome.error());
    terminal_.error(outcome.error());
  }
  return was_interrupted() ? static_cast<int>(ErrorKind::interrupted) : 0;
}

// The next message that is not empty. A person who presses Ctrl-C at the prompt is asked once whether that is meant.
std::optional<std::string> Chat::next_message() {
  for (bool was_asked = false;;) {
    auto typed = read_message();
    if (typed.has_value() && !typed->empty()) return typed;
    if (typed.has_value()) continue;
    if (is_interactive_) terminal_.line("");
    if (!is_interactive_ || !was_interrupted() || was_asked) return std::nullopt;
    forget_interrupt();
    terminal_.line("(Ctrl-C once more, Ctrl-D or /exit leaves)");
    was_asked = true;
  }
}

Result<Chat::Next> Chat::heed(const std::string& message) {
  if (message.starts_with('/') && is_interactive_) return obey(std::string_view(message).substr(1));
  session_.say(message);
  return Next::answer;
}

// One message: a line, lines that end with a backslash and the one that follows, or all between two lines of """.
std::optional<std::string> Chat::read_message() {
  auto line = editor_.read("> ", std::exchange(prefill_, {}));
  if (!line.has_value() || !is_interactive_) return line;
  std::string message;
  if (line->starts_with("\"\"\"")) {
    message = line->substr(3);
    while (!message.ends_with("\"\"\"")) {
      line = editor_.read("  ");
      if (!line.has_value()) return std::nullopt;
      if (!message.empty()) message += '\n';
      message += *line;
    }
    message.resize(message.size() - 3);
    return message;
  }
  while (line->ends_with('\\')) {
    line->pop_back();
    message += *line + '\n';
    line = editor_.read("  ");
    if (!line.has_value()) return std::nullopt;
  }
  return message + *line;
}

Result<Chat::Next> Chat::obey(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  std::string_view rest = line.substr(space);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const SlashCommand* command = find_slash_command(line.substr(0, space));
  if (command == nullptr) {
    return fail(ErrorKind::usage, "/{}: no such command; /help lists them", printable(line.substr(0, space), 40));
  }
  const std::string_view name = split_list(command->names).front();
  if (name == "help") terminal_.line(slash_help());
  if (name == "exit") return Next::leave;
  if (name == "again") {
    if (session_.take_back_answer()) return Next::answer;
    return fail(ErrorKind::usage, "/again: there is no answer yet");
  }
  if (name == "edit") return obey_edit(rest);
  if (name == "undo") {
    if (!session_.take_back_turn().has_value()) return fail(ErrorKind::usage, "/undo: there is no message yet");
    terminal_.line(fmt::format("(taken back; {} messages are left)", session_.messages().size()));
  }
  if (name == "continue") {
    if (session_.messages().empty() || session_.messages().back()["role"] != "assistant") {
      return fail(ErrorKind::usage, "/continue: there is no answer yet");
    }
    session_.conversation().continue_final_message = true;
    session_.conversation().add_generation_prompt = false;
    return Next::answer;
  }
  if (name == "clear") session_.clear();
  if (name == "system") session_.set_system(rest);
  if (name == "think") PLM_TRY(set_thinking(rest));
  if (name == "info" || name == "system" || name == "think") show_picture();
  if (name == "show") PLM_TRY(show_prompt());
  if (name == "save") PLM_TRY(save(std::string(rest)));
  if (name == "load") PLM_TRY(load(std::string(rest)));
  return Next::read;
}

Result<Chat::Next> Chat::obey_edit(std::string_view text) {
  const auto old = session_.take_back_turn();
  if (!old.has_value()) return fail(ErrorKind::usage, "/edit: there is no message yet");
  if (!text.empty()) {
    session_.say(text);
    return Next::answer;
  }
  prefill_ = *old;
  std::replace(prefill_.begin(), prefill_.end(), '\n', ' ');  // a line feed would end the line
  return Next::read;
}

Result<void> Chat::answer() {
  terminal_.progress("reading", 0);
  const auto interrupted = [&] { return was_interrupted() || terminal_.failure().has_value(); };
  const auto result = session_.answer([&](const ThinkingSplitter::Parts& parts) { show(parts); }, interrupted);
  session_.conversation().continue_final_message = false;
  session_.conversation().add_generation_prompt = true;
  terminal_.clear_progress();
  if (!result.has_value()) {
    session_.take_back_turn();
    return tl::unexpected<Error>(result.error());
  }
  is_thinking_ = false;
  terminal_.data("\n");
  show_statistics(*result);
  if (is_interactive_) forget_interrupt();
  return {};
}

void Chat::show(const ThinkingSplitter::Parts& parts) {
  if (!parts.thinking.empty()) {
    terminal_.aside(parts.thinking);
    is_thinking_ = true;
  }
  if (parts.answer.empty()) return;
  if (std::exchange(is_thinking_, false)) terminal_.aside("\n\n");
  terminal_.data(parts.answer);
}

void Chat::show_statistics(const ChatAnswer& answer) {
  const double rate =
      answer.decode_ms > 0 ? static_cast<double>(answer.written_tokens - 1) / answer.decode_ms * 1000 : 0.0;
  terminal_.line(
      fmt::format("[{}; prompt {} tokens, {} known before; first token {:.0f} ms; {} tokens at {:.1f}/s; "
                  "seed {}]",
                  finish_reason_name(answer.reason), answer.prompt_tokens, answer.reused_tokens, answer.first_token_ms,
                  answer.written_tokens, rate, answer.seed));
}

Result<void> Chat::show_prompt() {
  PLM_TRY_ASSIGN(const ChatPrompt prompt, session_.prompt());
  PLM_TRY_ASSIGN(const auto ids, encode_prompt(prompt, engine_.tokenizer(), call_.settings));
  for (const std::string& sentence : prompt.notes) terminal_.note(sentence);
  terminal_.data(pieces_of(ids, engine_.vocabulary()));
  terminal_.data("\n");
  terminal_.line(fmt::format("[{} tokens]", ids.size()));
  return {};
}

void Chat::show_picture() {
  terminal_.line(chat_picture(template_, engine_.vocabulary(), session_.system(),
                              fmt::format("{} tokens, the model was trained with {}", engine_.context_length(),
                                          engine_.shape().trained_context)));
}

Result<void> Chat::set_thinking(std::string_view word) {
  if (word != "on" && word != "off" && word != "auto") {
    return fail(ErrorKind::usage, "/think: \"{}\", expected on, off or auto", printable(word, 40));
  }
  if (!template_.abilities().thinking_switch) terminal_.note("this template has no switch for thinking");
  auto& choice = session_.conversation().enable_thinking;
  choice.reset();
  if (word != "auto") choice = word == "on";
  return {};
}

Result<void> Chat::save(const std::string& name) {
  if (name.empty()) return fail(ErrorKind::usage, "/save: no file named");
  return write_text(name, json_text(session_.messages(), 2) + "\n");
}

Result<void> Chat::load(const std::string& name) {
  if (name.empty()) return fail(ErrorKind::usage, "/load: no file named");
  const auto read = [&]() -> Result<Conversation> {
    PLM_TRY_ASSIGN(const std::string text, read_text(name));
    PLM_TRY_ASSIGN(const Json request, parse_json(text, name));
    return Conversation::parse(request);
  }();
  if (!read.has_value()) return fail(ErrorKind::usage, "{}", read.error().message);
  session_.conversation().messages = read->messages;
  terminal_.line(fmt::format("({} messages)", read->messages.size()));
  return {};
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto constraint, chosen_constraint(call));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 2));  // the conversation, and what it was before an edit
  PLM_TRY_ASSIGN(const ChatTemplate chat_template, load_chat_template(call, engine->vocabulary()));
  (void)use_model_defaults(call, *engine);
  ChatPolicy policy{.settings = &call.settings,
                    .max_tokens = static_cast<std::size_t>(call.settings.integer("max_tokens")),
                    .seed = chosen_seed(call.settings),
                    .stops = call.all("stop"),
                    .constraint = constraint};
  PLM_TRY_ASSIGN(policy.thinking, chosen_thinking(call.settings, chat_template.thinking(), {}));
  return Chat(call, *engine, chat_template, std::move(policy)).run();
}

}  // namespace

extern constinit const Command command_chat = {
    .head = {.name = "chat",
             .summary = "a conversation with a model",
             .source = "datasheet 3, serialisation",
             .parameters = kFlags},
    .arguments = kArguments,
    .samples = true,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
