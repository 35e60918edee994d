#include "text/chat/stand_ins.h"

#include <utility>

namespace plm {
namespace {

std::string content_of(const Json& message) {
  const Json& content = message["content"];
  return content.is_string() ? content.get<std::string>() : std::string();
}

void join(std::string& text, std::string_view more) {
  if (!text.empty() && !more.empty()) text += "\n\n";
  text += more;
}

// The tools in words, and how they are called: the form that `calls_in_words` writes.
std::string tools_in_words(const Json& tools) {
  std::string text =
      "You can use tools. To use one or more, answer with nothing but a JSON object of the form "
      R"({"tool_calls": [{"name": NAME, "arguments": OBJECT}]}.)"
      " The tools, one a line, with the JSON Schema of their arguments:";
  for (const Json& tool : tools) text += "\n" + json_text(tool["function"]);
  return text;
}

std::string calls_in_words(const Json& calls) {
  Json list = Json::array();
  for (const Json& call : calls) {
    list.push_back({{"name", call["function"]["name"]}, {"arguments", call["function"]["arguments"]}});
  }
  return json_text({{"tool_calls", list}});
}

void put_in_front(Json& messages, const std::string& system) {
  if (!messages.empty() && messages[0]["role"] == "system") {
    std::string text = content_of(messages[0]);
    join(text, system);
    messages[0]["content"] = text;
  } else {
    messages.insert(messages.begin(), chat_message("system", system));
  }
}

void tell_calls_in_words(Json& messages, bool results_only) {
  for (Json& message : messages) {
    if (message["role"] == "tool") {
      const std::string name = message.value("name", message.value("tool_call_id", std::string()));
      message = chat_message(
          "user", fmt::format("Result of the tool{}{}:\n{}", name.empty() ? "" : " ", name, content_of(message)));
    } else if (!results_only && message.contains("tool_calls")) {
      std::string text = content_of(message);
      join(text, calls_in_words(message["tool_calls"]));
      message["content"] = text;
      message.erase("tool_calls");
    }
  }
}

// Each system message goes in front of the user's next message, or becomes one.
void fold_system_messages(Json& messages) {
  Json folded = Json::array();
  std::string waiting;
  for (Json& message : messages) {
    if (message["role"] == "system") {
      join(waiting, content_of(message));
      continue;
    }
    if (!waiting.empty() && message["role"] == "user") {
      join(waiting, content_of(message));
      message["content"] = std::exchange(waiting, {});
    } else if (!waiting.empty()) {
      folded.push_back(chat_message("user", std::exchange(waiting, {})));
    }
    folded.push_back(std::move(message));
  }
  if (!waiting.empty()) folded.push_back(chat_message("user", waiting));
  messages = std::move(folded);
}

bool has_role(const Json& messages, std::string_view role) {
  for (const Json& message : messages) {
    if (message["role"] == role) return true;
  }
  return false;
}

bool has_calls(const Json& messages) {
  for (const Json& message : messages) {
    if (message.contains("tool_calls")) return true;
  }
  return false;
}

void adapt_forms(Json& messages, const ChatAbilities& abilities) {
  for (Json& message : messages) {
    const bool has_calls = message.contains("tool_calls");
    if (message["content"].is_null() && !(has_calls && abilities.null_content)) message["content"] = "";
    if (has_calls && !abilities.object_arguments) {
      for (Json& call : message["tool_calls"]) {
        call["function"]["arguments"] = json_text(call["function"]["arguments"]);
      }
    }
    if (abilities.parts && message["content"].is_string()) {
      message["content"] = Json::array({{{"type", "text"}, {"text", message["content"]}}});
    }
  }
}

}  // namespace

Conversation with_stand_ins(Conversation conversation, const ChatAbilities& abilities,
                            std::vector<std::string>& notes) {
  Json& messages = conversation.messages;
  if (!abilities.developer) {
    for (Json& message : messages) {
      if (message["role"] == "developer") message["role"] = "system";
    }
  }
  if (!conversation.tools.is_null() && !abilities.tools) {
    put_in_front(messages, tools_in_words(conversation.tools));
    conversation.tools = nullptr;
    notes.emplace_back("the chat template knows no tools; they are described in the system message");
  }
  const bool tells_calls = has_calls(messages) && !abilities.tool_calls;
  const bool tells_results = has_role(messages, "tool") && !abilities.tool_results;
  if (tells_calls || tells_results) {
    tell_calls_in_words(messages, !tells_calls);
    notes.emplace_back("the chat template knows no calls of tools; calls and results are told in messages");
  }
  if (!abilities.system && has_role(messages, "system")) {
    fold_system_messages(messages);
    notes.emplace_back("the chat template knows no system message; it goes in front of the user's next one");
  }
  adapt_forms(messages, abilities);
  return conversation;
}

}  // namespace plm
