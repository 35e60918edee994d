#include "text/chat/conversation.h"

#include <array>
#include <span>
#include <utility>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::size_t kShownBytes = 60;

template <typename... Args>
tl::unexpected<Error> refuse(const std::string& place, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(
      Error{ErrorKind::usage, fmt::format("{}: {}", place, fmt::format(format, std::forward<Args>(args)...))});
}

std::string shown(const Json& value) { return printable(json_text(value), kShownBytes); }

// The parts of a content, joined. Parts that are no text have no place in a text.
Result<std::string> text_of_parts(const Json& parts, const std::string& place) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Json& part = parts[i];
    const std::string here = fmt::format("{}[{}]", place, i);
    if (part.is_string()) {
      text += part.get<std::string>();
      continue;
    }
    const auto type = part.is_object() ? part.find("type") : part.end();
    if (!part.is_object() || type == part.end() || !type->is_string()) {
      return refuse(here, "{}, expected a string or an object with \"type\"", shown(part));
    }
    if (!part.contains("text") || !part["text"].is_string()) {
      return refuse(here, "a part of type {}, expected text; images and sound are not understood", shown(*type));
    }
    text += part["text"].get<std::string>();
  }
  return text;
}

Result<void> check_content(Json& message, const std::string& place) {
  if (!message.contains("content")) message["content"] = nullptr;
  Json& content = message["content"];
  if (content.is_array()) {
    PLM_TRY_ASSIGN(content, text_of_parts(content, place + ".content"));
  } else if (!content.is_string() && !content.is_null()) {
    return refuse(place + ".content", "{}, expected a string, null or an array of parts", shown(content));
  }
  const bool says_more = message.contains("tool_calls") || message.contains("reasoning_content");
  if (content.is_null() && !says_more) {
    return refuse(place + ".content", "missing, and there are no tool_calls; expected a string");
  }
  return {};
}

Result<void> check_tool_call(Json& call, const std::string& place) {
  if (!call.is_object()) return refuse(place, "{}, expected an object", shown(call));
  if (!call.contains("function")) {
    if (!call.contains("name")) return refuse(place, "neither \"function\" nor \"name\"");
    Json function = {{"name", call["name"]}, {"arguments", call.value("arguments", Json::object())}};
    call.erase("name");
    call.erase("arguments");
    call["function"] = std::move(function);
  }
  if (!call.contains("type")) call["type"] = "function";
  Json& function = call["function"];
  if (!function.is_object() || !function.contains("name") || !function["name"].is_string()) {
    return refuse(place + ".function", "{}, expected an object with a \"name\"", shown(function));
  }
  if (!function.contains("arguments")) function["arguments"] = Json::object();
  Json& arguments = function["arguments"];
  if (arguments.is_string()) {
    const auto parsed = parse_json(arguments.get<std::string>(), place + ".function.arguments");
    if (!parsed.has_value()) return fail(ErrorKind::usage, "{}", parsed.error().message);
    arguments = *parsed;
  }
  if (!arguments.is_object()) return refuse(place + ".function.arguments", "{}, expected an object", shown(arguments));
  return {};
}

Result<void> check_message(Json& message, const std::string& place) {
  if (!message.is_object()) return refuse(place, "{}, expected an object", shown(message));
  const auto role = message.find("role");
  if (role == message.end()) return refuse(place + ".role", "missing; expected system, user, assistant or tool");
  if (!role->is_string() || role->get<std::string>().empty()) {
    return refuse(place + ".role", "{}, expected system, user, assistant or tool", shown(*role));
  }
  // Clients write null for what is not there.
  for (const std::string_view key : {"tool_calls", "reasoning_content", "name"}) {
    if (message.contains(key) && message[std::string(key)].is_null()) message.erase(std::string(key));
  }
  if (message.contains("reasoning_content") && !message["reasoning_content"].is_string()) {
    return refuse(place + ".reasoning_content", "{}, expected a string", shown(message["reasoning_content"]));
  }
  PLM_TRY(check_content(message, place));
  if (!message.contains("tool_calls")) return {};
  Json& calls = message["tool_calls"];
  if (!calls.is_array()) return refuse(place + ".tool_calls", "{}, expected an array", shown(calls));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    PLM_TRY(check_tool_call(calls[i], fmt::format("{}.tool_calls[{}]", place, i)));
  }
  if (calls.empty()) message.erase("tool_calls");
  return {};
}

Result<void> check_messages(Json& messages, const ConversationLimits& limits) {
  if (!messages.is_array()) return refuse("messages", "{}, expected an array", shown(messages));
  if (messages.empty()) return refuse("messages", "empty; expected at least one message");
  if (messages.size() > limits.messages) {
    return refuse("messages", "{} of them, at most {} are taken", messages.size(), limits.messages);
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    PLM_TRY(check_message(messages[i], fmt::format("messages[{}]", i)));
    if (messages[i]["content"].is_string()) bytes += messages[i]["content"].get_ref<const std::string&>().size();
  }
  if (bytes > limits.text_bytes) return refuse("messages", "{} bytes, at most {} are taken", bytes, limits.text_bytes);
  return {};
}

Result<void> read_array(const Json& request, std::string_view key, Json& target) {
  const auto found = request.find(key);
  if (found == request.end() || found->is_null()) return {};
  if (!found->is_array()) return refuse(std::string(key), "{}, expected an array", shown(*found));
  if (!found->empty()) target = *found;
  return {};
}

// Whether the key was there, and if so its truth in `target`.
Result<bool> read_boolean(const Json& request, std::string_view key, bool& target) {
  const auto found = request.find(key);
  if (found == request.end() || found->is_null()) return false;
  if (!found->is_boolean()) return refuse(std::string(key), "{}, expected true or false", shown(*found));
  target = found->get<bool>();
  return true;
}

Result<void> read_tools(const Json& request, Json& tools) {
  PLM_TRY(read_array(request, "tools", tools));
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    Json& tool = tools[i];
    if (!tool.is_object()) return refuse(place, "{}, expected an object", shown(tool));
    if (!tool.contains("function") && tool.contains("name")) tool = {{"type", "function"}, {"function", tool}};
    const auto function = tool.find("function");
    if (function == tool.end() || !function->is_object() || !function->contains("name") ||
        !(*function)["name"].is_string()) {
      return refuse(place + ".function", "missing or without a \"name\"");
    }
  }
  return {};
}

Result<void> read_variables(const Json& request, Conversation& conversation) {
  const auto found = request.find("chat_template_kwargs");
  if (found == request.end() || found->is_null()) return {};
  if (!found->is_object()) return refuse("chat_template_kwargs", "{}, expected an object", shown(*found));
  conversation.variables = *found;
  bool thinks = false;
  PLM_TRY_ASSIGN(const bool is_given, read_boolean(*found, "enable_thinking", thinks));
  if (is_given) conversation.enable_thinking = thinks;
  conversation.variables.erase("enable_thinking");
  return {};
}

}  // namespace

Result<Conversation> Conversation::parse(const Json& request, const ConversationLimits& limits) {
  Conversation conversation;
  if (request.is_array()) {
    conversation.messages = request;
    PLM_TRY(check_messages(conversation.messages, limits));
    return conversation;
  }
  if (!request.is_object()) return refuse("conversation", "{}, expected an array of messages", shown(request));
  if (!request.contains("messages")) return refuse("messages", "missing; expected an array of messages");
  conversation.messages = request["messages"];
  PLM_TRY(check_messages(conversation.messages, limits));
  PLM_TRY(read_tools(request, conversation.tools));
  PLM_TRY(read_array(request, "documents", conversation.documents));
  PLM_TRY(read_variables(request, conversation));
  PLM_TRY_ASSIGN(const bool continues,
                 read_boolean(request, "continue_final_message", conversation.continue_final_message));
  PLM_TRY_ASSIGN(const bool is_given,
                 read_boolean(request, "add_generation_prompt", conversation.add_generation_prompt));
  if (continues && conversation.continue_final_message) {
    if (is_given && conversation.add_generation_prompt) {
      return refuse("continue_final_message", "true, and so is add_generation_prompt; only one of them can be");
    }
    conversation.add_generation_prompt = false;
  }
  bool thinks = false;
  PLM_TRY_ASSIGN(const bool says_so, read_boolean(request, "enable_thinking", thinks));
  if (says_so) conversation.enable_thinking = thinks;
  return conversation;
}

Json chat_message(std::string_view role, std::string_view content) { return {{"role", role}, {"content", content}}; }

}  // namespace plm
