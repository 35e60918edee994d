// From a conversation to the text that a model was trained on: its chat template, and what stands in for the things
// that a template cannot say.
//
// What a template understands is found out by rendering small conversations with it (`abilities`), not by its name.
// What it does not understand is put into words that it does: a system message goes in front of the user's next one,
// tools are described in the system message, their calls and results become messages. Every character of the result
// carries whether it came from the template; only those may become control tokens (Tokenizer::encode). Source:
// datasheet 3 (serialisation); the variables are those of Hugging Face transformers. Immutable, so threads may share
// it. Tested by tests/text/chat/test_chat_template.cpp.
#pragma once

#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/conversation.h"
#include "text/jinja/template.h"
#include "text/vocabulary.h"

namespace plm {

/// The text of a template, and where it came from, in words for people.
struct ChatTemplateSource {
  std::string text;
  std::string origin;          ///< "model.gguf, tokenizer.chat_template"
  std::string text_for_tools;  ///< used instead when there are tools; empty: none
};

/// A template that ships with the program.
struct BuiltinChatTemplate {
  std::string_view name;
  std::string_view text;
  std::string_view marker;  ///< a token that says that a vocabulary was made for it
};
/// Sorted by name.
[[nodiscard]] std::span<const BuiltinChatTemplate> builtin_chat_templates();

/// The template named `name`. Error (usage): there is none; the message lists them.
[[nodiscard]] Result<ChatTemplateSource> builtin_chat_template(std::string_view name);

/// The template that the model's file brings, else the one that its vocabulary was made for. Error (bad_input):
/// neither.
[[nodiscard]] Result<ChatTemplateSource> chat_template_of(const Vocabulary& vocabulary);

/// What a template understands.
struct ChatAbilities {
  bool system = false;           ///< messages of role "system"
  bool developer = false;        ///< messages of role "developer"
  bool tools = false;            ///< the variable `tools`
  bool tool_calls = false;       ///< messages with tool_calls
  bool tool_results = false;     ///< messages of role "tool"
  bool parts = false;            ///< content only as an array of parts
  bool null_content = false;     ///< content null beside tool_calls
  bool object_arguments = true;  ///< arguments of calls as objects, not as JSON in strings
  bool thinking_switch = false;  ///< enable_thinking changes the text
};

/// The marks around what a model thinks before it answers.
struct ThinkingTags {
  std::string begin, end;
};

/// A conversation as the model will see it.
struct ChatPrompt {
  jinja::MarkedText text;
  bool begins_thinking = false;    ///< the text ends with the begin of the model's thinking
  std::vector<std::string> notes;  ///< what stood in for things that the template cannot say, one sentence each
};

class ChatTemplate {
 public:
  /// The texts of the vocabulary's special tokens are the template's variables bos_token and so on.
  /// Errors (bad_input): not a template; the message names line and column, and --chat-template.
  static Result<ChatTemplate> create(ChatTemplateSource source, const Vocabulary& vocabulary);

  /// Errors (usage): the template refuses the conversation, in its own words, with line and column.
  [[nodiscard]] Result<ChatPrompt> render(const Conversation& conversation) const;

  [[nodiscard]] const ChatTemplateSource& source() const { return source_; }
  [[nodiscard]] const ChatAbilities& abilities() const { return abilities_; }
  [[nodiscard]] const std::optional<ThinkingTags>& thinking() const { return thinking_; }

  /// What strftime_now tells; not set: the local time of the call.
  void set_time(const std::tm& time) { time_ = time; }

 private:
  ChatTemplate(ChatTemplateSource source, jinja::Template main) : source_(std::move(source)), main_(std::move(main)) {}

  [[nodiscard]] Result<jinja::MarkedText> render_as_is(const Conversation& conversation) const;
  [[nodiscard]] std::string probe(const Json& messages, const Json& tools = nullptr) const;
  void find_abilities();
  void find_thinking(const Vocabulary& vocabulary);
  [[nodiscard]] std::optional<ThinkingTags> tags_around_reasoning() const;

  ChatTemplateSource source_;
  jinja::Template main_;
  std::optional<jinja::Template> for_tools_;
  Json special_tokens_ = Json::object();  // variable to text
  ChatAbilities abilities_;
  std::optional<ThinkingTags> thinking_;
  std::optional<std::tm> time_;
};

}  // namespace plm
