#include "cli/chat_flags.h"

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/engine_flags.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

constexpr std::size_t kShownBytes = 72;

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
      printable(chat_template.source().origin), system.empty() ? "none" : "\"" + printable(system, kShownBytes) + "\"",
      stops.empty() ? "none: the model cannot end its answer" : stops,
      thinking.has_value() ? printable(thinking->begin) + " ... " + printable(thinking->end) : "no tags found",
      context);
}

}  // namespace plm
