// The flags of commands that turn conversations into text, and the template they name.
// Tested by tests/cli/test_chat.py.
#pragma once

#include <string>

#include "cli/command.h"
#include "text/chat/chat_template.h"
#include "text/tokenizer.h"

namespace plm {

inline constexpr Parameter kChatTemplateFlag = {
    .name = "chat_template",
    .aliases = "chat_template_file",
    .summary = "a Jinja file, or the name of a built-in template; not given: what the model's file brings",
    .type = ParameterType::text,
    .unit = "FILE|NAME",
    .tag = Tag::pipe};
inline constexpr Parameter kTemplateVariablesFlag = {.name = "chat_template_kwargs",
                                                     .summary = "more variables for the template, as a JSON object",
                                                     .type = ParameterType::text,
                                                     .unit = "JSON",
                                                     .tag = Tag::pipe};
inline constexpr Parameter kThinkingFlag = {.name = "thinking",
                                            .aliases = "reasoning",
                                            .summary =
                                                "whether the model is to think before it answers; auto: as the "
                                                "template wants",
                                            .type = ParameterType::choice,
                                            .standard = "auto",
                                            .choices = "auto, on, off"};
inline constexpr Parameter kSpecialInMessagesFlag = {
    .name = "allow_special_in_messages",
    .summary = "control tokens spelled in a message become those tokens; not for messages of strangers",
    .type = ParameterType::boolean,
    .tag = Tag::pipe};

/// The template that the flags name, else the model's. Errors: as of ChatTemplate::create, or the file cannot be read.
[[nodiscard]] Result<ChatTemplate> load_chat_template(const Invocation& call, const Vocabulary& vocabulary);

/// Puts what the flags say about thinking and variables into `conversation`. Errors (usage).
Result<void> apply_chat_flags(const Settings& settings, Conversation& conversation);

/// The tokens of a prompt: those that the template wrote, nothing put around them.
[[nodiscard]] Result<std::vector<TokenId>> encode_prompt(const ChatPrompt& prompt, const Tokenizer& tokenizer,
                                                         const Settings& settings);

/// The pieces of a text with its control tokens apart, for Terminal::data.
[[nodiscard]] std::vector<Terminal::Piece> pieces_of(std::span<const TokenId> ids, const Vocabulary& vocabulary);

/// The four things that go wrong most often: template, system prompt, stop tokens, context length. A line each.
[[nodiscard]] std::string chat_picture(const ChatTemplate& chat_template, const Vocabulary& vocabulary,
                                       std::string_view system, std::string_view context);

}  // namespace plm
