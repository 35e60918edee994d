#include "text/chat/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/chat/stand_ins.h"

namespace plm {
namespace {

constexpr std::string_view kMark = "Quokka7";  // a word that no template writes
constexpr std::string_view kOther = "Wombat5";

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Json call_of(const Json& arguments) {
  const Json function = {{"name", "lookup"}, {"arguments", arguments}};
  const Json call = {{"id", "call00001"}, {"type", "function"}, {"function", function}};
  return {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}};
}

Json conversation_with(const Json& last) { return Json::array({chat_message("user", kOther), last}); }

struct SpecialVariable {
  std::string_view name;
  SpecialToken token;
};
constexpr SpecialVariable kSpecialVariables[] = {
    {"bos_token", SpecialToken::bos},     {"eos_token", SpecialToken::eos},       {"unk_token", SpecialToken::unknown},
    {"pad_token", SpecialToken::padding}, {"sep_token", SpecialToken::separator}, {"cls_token", SpecialToken::classify},
    {"mask_token", SpecialToken::mask},
};

// Marks that a template may hold in a form from which they cannot be read off.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kKnownTags = {{
    {"<|channel|>analysis<|message|>", "<|end|>"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
}};
// Marks of vocabularies, for templates that leave the thinking out.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTokenTags = {{
    {"<think>", "</think>"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"[THINK]", "[/THINK]"},
    {"<seed:think>", "</seed:think>"},
}};

std::string_view without_blanks_at_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

}  // namespace

Result<ChatTemplate> ChatTemplate::create(ChatTemplateSource source, const Vocabulary& vocabulary) {
  const auto parse = [&](const std::string& text) -> Result<jinja::Template> {
    auto parsed = jinja::Template::parse(text, "chat template");
    if (parsed.has_value()) return parsed;
    return fail(ErrorKind::bad_input, "{}: {}; use --chat-template NAME or FILE", source.origin,
                parsed.error().message);
  };
  PLM_TRY_ASSIGN(jinja::Template main, parse(source.text));
  std::optional<jinja::Template> for_tools;
  if (!source.text_for_tools.empty()) {
    PLM_TRY_ASSIGN(for_tools, parse(source.text_for_tools));
  }
  ChatTemplate created(std::move(source), std::move(main));
  created.for_tools_ = std::move(for_tools);
  for (const SpecialVariable& variable : kSpecialVariables) {
    const auto id = vocabulary.special(variable.token);
    created.special_tokens_[std::string(variable.name)] = id ? std::string(vocabulary.text(*id)) : std::string();
  }
  created.find_abilities();
  created.find_thinking(vocabulary);
  return created;
}

Result<jinja::MarkedText> ChatTemplate::render_as_is(const Conversation& conversation) const {
  Json variables = conversation.variables;
  variables.update(special_tokens_);
  variables["messages"] = conversation.messages;
  if (!conversation.tools.is_null()) variables["tools"] = conversation.tools;
  if (!conversation.documents.is_null()) variables["documents"] = conversation.documents;
  variables["add_generation_prompt"] = conversation.add_generation_prompt;
  if (conversation.enable_thinking.has_value()) {
    for (const char* name : {"enable_thinking", "thinking"}) variables[name] = *conversation.enable_thinking;
  }
  jinja::RenderOptions options;
  for (const SpecialVariable& variable : kSpecialVariables) options.trusted.emplace_back(variable.name);
  options.now = time_;
  const bool has_tools = for_tools_.has_value() && !conversation.tools.is_null();
  return (has_tools ? *for_tools_ : main_).render(variables, options);
}

// The text of a small conversation; empty when the template refuses it.
std::string ChatTemplate::probe(const Json& messages, const Json& tools) const {
  Conversation conversation;
  conversation.messages = messages;
  conversation.tools = tools;
  const auto text = render_as_is(conversation);
  return text.has_value() ? text->text() : std::string();
}

void ChatTemplate::find_abilities() {
  const Json user = chat_message("user", kMark);
  const auto begins_with = [&](std::string_view role) {
    return holds(probe(Json::array({chat_message(role, kMark), chat_message("user", kOther)})), kMark);
  };
  Json with_parts = user;
  with_parts["content"] = Json::array({{{"type", "text"}, {"text", kMark}}});
  abilities_.parts = !holds(probe(Json::array({user})), kMark) && holds(probe(Json::array({with_parts})), kMark);
  abilities_.system = begins_with("system");
  abilities_.developer = begins_with("developer");
  const Json tool = {{"type", "function"},
                     {"function",
                      {{"name", kMark},
                       {"description", kMark},
                       {"parameters", {{"type", "object"}, {"properties", Json::object()}}}}}};
  abilities_.tools = holds(probe(Json::array({chat_message("user", kOther)}), Json::array({tool})), kMark);

  const Json arguments = {{"key", kMark}};
  const std::string of_object = probe(conversation_with(call_of(arguments)), Json::array({tool}));
  const std::string of_text = probe(conversation_with(call_of(json_text(arguments))), Json::array({tool}));
  Json with_empty_content = call_of(arguments);
  with_empty_content["content"] = "";
  const std::string of_empty = probe(conversation_with(with_empty_content), Json::array({tool}));
  // An object that is written as Python would write it was meant to be a string.
  const bool is_json = holds(of_object, "lookup") && holds(of_object, kMark) && !holds(of_object, "{'key'");
  abilities_.null_content = (is_json && !holds(of_object, "None")) || (!is_json && !of_text.empty());
  abilities_.object_arguments = is_json || holds(of_empty, kMark);
  abilities_.tool_calls = holds(of_object + of_text + of_empty, "lookup");

  Json messages = conversation_with(call_of(arguments));
  messages[1]["content"] = "";
  if (!abilities_.object_arguments) messages[1]["tool_calls"][0]["function"]["arguments"] = json_text(arguments);
  messages.push_back({{"role", "tool"}, {"name", "lookup"}, {"tool_call_id", "call00001"}, {"content", "Numbat3"}});
  abilities_.tool_results = abilities_.tool_calls && holds(probe(messages, Json::array({tool})), "Numbat3");

  Conversation thinks, does_not;
  thinks.messages = does_not.messages = Json::array({user});
  thinks.enable_thinking = true;
  does_not.enable_thinking = false;
  const auto on = render_as_is(thinks), off = render_as_is(does_not);
  abilities_.thinking_switch = on.has_value() && off.has_value() && on->text() != off->text();
}

// The marks next to the thinking of an earlier answer, where the template shows it.
std::optional<ThinkingTags> ChatTemplate::tags_around_reasoning() const {
  Json answer = chat_message("assistant", kMark);
  answer["reasoning_content"] = "Numbat3";
  const std::string text = probe(conversation_with(answer));
  const std::size_t at = text.find("Numbat3");
  if (at == std::string::npos || text.find(kMark, at) == std::string::npos) return std::nullopt;
  const std::string_view before = without_blanks_at_end(std::string_view(text).substr(0, at));
  std::string_view after = std::string_view(text).substr(at + 7);
  after.remove_prefix(std::min(after.find_first_not_of(" \t\r\n"), after.size()));
  if (before.empty() || after.empty()) return std::nullopt;
  const char opens = before.back() == '>' ? '<' : '[';
  const std::size_t begin = before.rfind(opens), end = after.find(opens == '<' ? '>' : ']');
  if (begin == std::string_view::npos || after.front() != opens || end == std::string_view::npos) return std::nullopt;
  return ThinkingTags{std::string(before.substr(begin)), std::string(after.substr(0, end + 1))};
}

void ChatTemplate::find_thinking(const Vocabulary& vocabulary) {
  for (const auto& [begin, end] : kKnownTags) {
    if (holds(source_.text, begin)) thinking_ = ThinkingTags{std::string(begin), std::string(end)};
  }
  if (!thinking_.has_value()) thinking_ = tags_around_reasoning();
  for (const auto& [begin, end] : kTokenTags) {
    const bool is_in_text = holds(source_.text, begin) || holds(source_.text, end);
    const bool is_in_vocabulary = vocabulary.find(begin).has_value() && vocabulary.find(end).has_value();
    if (!thinking_.has_value() && (is_in_text || is_in_vocabulary)) {
      thinking_ = ThinkingTags{std::string(begin), std::string(end)};
    }
  }
}

namespace {

// Where the last message's content ends in the rendered text; none when the template does not show it.
std::optional<std::size_t> end_of_last_content(std::string_view text, std::string_view content) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view with_blanks = content.substr(first);
  const std::string_view bare = without_blanks_at_end(with_blanks);
  const std::size_t at = text.rfind(bare);
  if (at == std::string_view::npos) return std::nullopt;
  return at + (text.substr(at).starts_with(with_blanks) ? with_blanks.size() : bare.size());
}

}  // namespace

Result<ChatPrompt> ChatTemplate::render(const Conversation& conversation) const {
  ChatPrompt prompt;
  Conversation told = with_stand_ins(conversation, abilities_, prompt.notes);
  auto text = render_as_is(told);
  if (!text.has_value()) {
    return fail(ErrorKind::usage, "{}: {}", source_.origin, text.error().message);
  }
  prompt.text = std::move(*text);
  if (conversation.continue_final_message) {
    const Json& content = told.messages.back()["content"];
    const auto end =
        content.is_string() ? end_of_last_content(prompt.text.text(), content.get<std::string>()) : std::nullopt;
    if (!end.has_value()) {
      return fail(ErrorKind::usage, "messages[{}].content: cannot be continued, since {} does not show it as it is",
                  told.messages.size() - 1, source_.origin);
    }
    prompt.text = prompt.text.slice(0, *end);
  }
  if (thinking_.has_value()) {
    prompt.begins_thinking = without_blanks_at_end(prompt.text.text()).ends_with(thinking_->begin);
  }
  return prompt;
}

}  // namespace plm
