#include "cli/chat_flags.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/engine_flags.h"
#include "text/detokenizer.h"
#include "text/special_matcher.h"

namespace plm {
namespace {

constexpr std::size_t kShownBytes = 72;
constexpr std::size_t kMostProbeBytes = 1U << 16;  // more than any template says of its own accord

Result<ChatTemplateSource> choose_source(const Settings& settings, const Vocabulary& vocabulary) {
  if (!settings.was_given("chat_template")) return chat_template_of(vocabulary);
  const std::string& wanted = settings.text("chat_template");
  const auto builtins = builtin_chat_templates();
  const bool is_name =
      std::any_of(builtins.begin(), builtins.end(), [&](const auto& row) { return row.name == wanted; });
  std::error_code none;
  if (is_name || !std::filesystem::exists(wanted, none)) return builtin_chat_template(wanted);
  PLM_TRY_ASSIGN(std::string text, read_text(wanted));
  return ChatTemplateSource{std::move(text), wanted, ""};
}

bool is_control(const Vocabulary& vocabulary, TokenId id) { return vocabulary.type(id) == TokenType::control; }

std::string without_control_tokens(std::string_view text, const Vocabulary& vocabulary) {
  std::vector<SpecialMatcher::Entry> controls;
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    if (is_control(vocabulary, token)) controls.emplace_back(vocabulary.text(token), token);
  }
  const SpecialMatcher matcher(std::move(controls));
  std::string rest;
  std::size_t at = 0;
  while (const auto match = matcher.find(text, at)) {
    rest.append(text.substr(at, match->begin - at));
    at = match->end;
  }
  return rest.append(text.substr(at));
}

// What the template says of its own accord before a conversation, control tokens aside: what stands before the first
// message of a user and not before a later one. Many templates bring a system prompt that way.
std::string own_words(const ChatTemplate& chat_template, const Vocabulary& vocabulary) {
  constexpr std::string_view kFirst = "first7message", kAnswer = "its7answer", kLater = "later7message";
  Conversation probe;
  probe.messages = {chat_message("user", kFirst), chat_message("assistant", kAnswer), chat_message("user", kLater)};
  const auto prompt = chat_template.render(probe);
  if (!prompt.has_value() || prompt->text.size() > kMostProbeBytes) return "";
  const std::string text = without_control_tokens(prompt->text.text(), vocabulary);
  const std::size_t first = text.find(kFirst), answer = text.find(kAnswer), later = text.rfind(kLater);
  if (first == std::string::npos || answer == std::string::npos || later == std::string::npos || later < answer) {
    return "";
  }
  std::string_view before = std::string_view(text).substr(0, first);
  std::string_view between = std::string_view(text).substr(0, later).substr(answer + kAnswer.size());
  while (!before.empty() && !between.empty() && before.back() == between.back()) {
    before.remove_suffix(1);
    between.remove_suffix(1);
  }
  const auto is_word = [](unsigned char byte) { return std::isalnum(byte) != 0 || byte >= 0x80; };
  if (std::none_of(before.begin(), before.end(), is_word)) return "";
  constexpr std::string_view kBlanks = " \t\r\n";
  before = before.substr(0, before.find_last_not_of(kBlanks) + 1);
  return std::string(before.substr(before.find_first_not_of(kBlanks)));
}

std::string described_system(const ChatTemplate& chat_template, const Vocabulary& vocabulary, std::string_view system) {
  if (!system.empty()) return "\"" + printable(system, kShownBytes) + "\"";
  const std::string own = own_words(chat_template, vocabulary);
  return own.empty() ? "none" : "none of yours; the template says \"" + printable(own, kShownBytes) + "\"";
}

}  // namespace

Result<ChatTemplate> load_chat_template(const Invocation& call, const Vocabulary& vocabulary) {
  PLM_TRY_ASSIGN(ChatTemplateSource source, choose_source(call.settings, vocabulary));
  return ChatTemplate::create(std::move(source), vocabulary);
}

Result<void> apply_chat_flags(const Settings& settings, Conversation& conversation) {
  if (settings.was_given("chat_template_kwargs")) {
    PLM_TRY_ASSIGN(const Json variables, parse_json(settings.text("chat_template_kwargs"), "--chat-template-kwargs"));
    if (!variables.is_object()) return fail(ErrorKind::usage, "--chat-template-kwargs: expected a JSON object");
    conversation.variables.update(variables);
  }
  const std::string& thinking = settings.text("thinking");
  if (thinking != "auto") conversation.enable_thinking = thinking == "on";
  return {};
}

Result<std::vector<TokenId>> encode_prompt(const ChatPrompt& prompt, const Tokenizer& tokenizer,
                                           const Settings& settings) {
  return tokenizer.encode(prompt.text,
                          {.add_special = false, .parse_special = settings.boolean("allow_special_in_messages")});
}

std::vector<Terminal::Piece> pieces_of(std::span<const TokenId> ids, const Vocabulary& vocabulary) {
  std::vector<Terminal::Piece> pieces;
  Detokenizer ordinary(vocabulary, {.show_special = true});
  const auto add = [&](std::string text, bool stands_out) {
    if (text.empty()) return;
    if (!pieces.empty() && !stands_out && !pieces.back().stands_out) {
      pieces.back().text += text;
    } else {
      pieces.push_back({std::move(text), stands_out});
    }
  };
  for (const TokenId id : ids) {
    if (is_control(vocabulary, id)) {
      add(ordinary.finish(), false);
      add(std::string(vocabulary.text(id)), true);
    } else {
      add(ordinary.push(id), false);
    }
  }
  add(ordinary.finish(), false);
  return pieces;
}

std::string chat_picture(const ChatTemplate& chat_template, const Vocabulary& vocabulary, std::string_view system,
                         std::string_view context) {
  std::string stops;
  for (const TokenId id : vocabulary.end_of_generation()) {
    stops += fmt::format("{}{} ({})", stops.empty() ? "" : ", ", printable(vocabulary.text(id), 40), id);
  }
  const auto& thinking = chat_template.thinking();
  return fmt::format(
      "template     {}\nsystem       {}\nstop tokens  {}\nthinking     {}\ncontext      {}",
      printable(chat_template.source().origin), described_system(chat_template, vocabulary, system),
      stops.empty() ? "none: the model cannot end its answer" : stops,
      thinking.has_value() ? printable(thinking->begin) + " ... " + printable(thinking->end) : "no tags found",
      context);
}

}  // namespace plm
