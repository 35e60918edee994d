#include "cli/thinking_flags.h"

#include "base/utf8.h"

namespace plm {

Result<std::optional<ThinkingLimit>> chosen_thinking(const Settings& settings, const std::optional<ThinkingTags>& tags,
                                                     std::string_view prompt) {
  if (!settings.has("think")) return std::optional<ThinkingLimit>();
  ThinkingLimit limit{.size = std::string(settings.text("think")),
                      .scope = settings.text("think_scope") == "block" ? BudgetScope::block : BudgetScope::turn,
                      .grace = static_cast<std::size_t>(settings.integer("think_grace")),
                      .soft = settings.real("think_soft")};
  if (settings.has("think_message")) limit.message = settings.text("think_message");
  if (settings.has("think_tags")) {
    const std::string_view text = settings.text("think_tags");
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos || comma == 0 || comma + 1 == text.size()) {
      return fail(ErrorKind::usage, "--think-tags: found '{}', expected two marks such as <think>,</think>",
                  printable(text, 60));
    }
    limit.begin = text.substr(0, comma);
    limit.end = text.substr(comma + 1);
  } else if (tags.has_value()) {
    limit.begin = tags->begin;
    limit.end = tags->end;
  } else {
    return fail(ErrorKind::usage,
                "--think: the model's chat template has no marks around its thinking; give --think-tags BEGIN,END, or "
                "leave --think out");
  }
  prompt = prompt.substr(0, prompt.find_last_not_of(" \n") + 1);
  limit.begins_inside = prompt.ends_with(limit.begin);
  return std::optional(std::move(limit));
}

std::optional<ThinkingTags> thinking_tags(const Vocabulary& vocabulary) {
  if (vocabulary.chat_template().empty()) return std::nullopt;
  const auto chat_template =
      ChatTemplate::create({.text = std::string(vocabulary.chat_template()), .origin = "the model"}, vocabulary);
  return chat_template.has_value() ? chat_template->thinking() : std::nullopt;
}

}  // namespace plm
