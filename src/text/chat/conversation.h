// A conversation in the OpenAI form, checked: who said what, which tools there are, and how it is to go on.
//
// What clients send differs in small ways (content as a string, as parts, missing; arguments of a tool call as JSON in
// a string or as an object). Here it becomes one form: `content` a string or null, `arguments` an object. Members that
// are not known here are kept, since a template may read them. Source: the chat completions request that servers of
// this field agree on. Tested by tests/text/chat/test_conversation.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace plm {

struct ConversationLimits {
  std::size_t messages = 100'000;
  std::size_t text_bytes = 256U << 20;  ///< of all contents together
};

struct Conversation {
  Json messages = Json::array();
  Json tools;                           ///< array, or null: there are none
  Json documents;                       ///< array, or null
  bool add_generation_prompt = true;    ///< the model is to answer
  bool continue_final_message = false;  ///< the model goes on with the last message instead
  std::optional<bool> enable_thinking;  ///< not given: as the template wants
  Json variables = Json::object();      ///< more of them for the template (chat_template_kwargs)

  /// `request` is an array of messages, or an object with `messages` and, optional, `tools`, `documents`,
  /// `add_generation_prompt`, `continue_final_message`, `enable_thinking` and `chat_template_kwargs`; its other members
  /// are not for here. Errors (usage) name the place, as in "messages[2].content".
  static Result<Conversation> parse(const Json& request, const ConversationLimits& limits = {});
};

/// `{"role": role, "content": content}`.
[[nodiscard]] Json chat_message(std::string_view role, std::string_view content);

}  // namespace plm
