// Anthropic's Messages API: an answer is a list of content blocks (thinking, text, tool_use), which a stream opens,
// fills and closes one after another.
#include "base/utf8.h"
#include "serve/dialect.h"
#include "serve/prompt_fields.h"
#include "serve/sampling_fields.h"
#include "serve/text_fields.h"
#include "serve/tool_calls.h"

namespace plm {
namespace {

constexpr Field kMessagesFields[] = {
    {.name = "messages", .summary = "who said what", .type = FieldType::array},
    {.name = "system", .summary = "a text, or an array of text blocks", .type = FieldType::any},
    {.name = "tools", .summary = "functions that the model may call", .type = FieldType::array},
    {.name = "tool_choice", .type = FieldType::object},
    {.name = "thinking", .summary = "{\"type\": \"enabled\"} or {\"type\": \"disabled\"}", .type = FieldType::object},
    {.name = "container", .use = FieldUse::is_ignored, .neutral = "[null]"},
};
std::span<const Field> messages_fields() { return kMessagesFields; }
constexpr FieldTable kTables[] = {messages_fields, text_fields, sampling_only_fields, foreign_fields, report_fields};

Json failure_json(const Failure& failure) {
  const char* type = failure.status == 401   ? "authentication_error"
                     : failure.status == 403 ? "permission_error"
                     : failure.status == 404 ? "not_found_error"
                     : failure.status == 413 ? "request_too_large"
                     : failure.status == 503 ? "overloaded_error"
                     : failure.status < 500  ? "invalid_request_error"
                                             : "api_error";
  return {{"type", "error"}, {"error", {{"type", type}, {"message", failure.message}}}};
}

Json usage_of(const Answer& answer, std::size_t written) {
  const std::size_t reused = answer.reused_tokens();
  return {{"input_tokens", answer.prompt_tokens() - std::min(answer.prompt_tokens(), reused)},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", reused},
          {"output_tokens", written}};
}

class MessagesForm : public AnswerForm {
 public:
  explicit MessagesForm(Json tools) : tools_(std::move(tools)) {}

  Json whole(const Answer& answer) override {
    const TextResult& text = answer.texts.front();
    const CalledTools called = tools_.empty() ? CalledTools{text.text, {}} : find_tool_calls(text.text, tools_);
    Json content = Json::array();
    if (!text.thinking.empty()) {
      content.push_back({{"type", "thinking"}, {"thinking", text.thinking}, {"signature", ""}});
    }
    if (!called.text.empty() || called.calls.empty()) content.push_back({{"type", "text"}, {"text", called.text}});
    for (std::size_t i = 0; i < called.calls.size(); ++i) content.push_back(block_of(answer, called.calls[i], i));
    Json json = message(answer);
    json["content"] = content;
    json["stop_reason"] = reason_of(text, !called.calls.empty());
    json["stop_sequence"] = stop_of(text);
    json["usage"] = usage_of(answer, text.tokens.size());
    if (!answer.report.is_null()) json["x_plm"] = answer.report;
    return json;
  }

  void begin(const Answer& answer, Frames& frames) override {
    Json start = message(answer);
    start["content"] = Json::array();
    start["stop_reason"] = nullptr;
    start["stop_sequence"] = nullptr;
    start["usage"] = usage_of(answer, 0);
    add(frames, "message_start", {{"message", start}});
    add(frames, "ping", Json::object());
  }
  void piece(const Answer& /*answer*/, const Piece& piece, Frames& frames) override {
    if (!piece.thinking.empty()) {
      open("thinking", {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}, frames);
      delta({{"type", "thinking_delta"}, {"thinking", piece.thinking}}, frames);
    }
    const std::string text = tools_.empty() ? piece.text : filter_.push(piece.text);
    if (!text.empty()) add_text(text, frames);
  }
  void text_ended(const Answer& answer, const TextResult& text, Frames& frames) override {
    bool has_calls = false;
    if (!tools_.empty()) {
      const CalledTools called = find_tool_calls(filter_.finish(), tools_);
      if (!called.text.empty()) add_text(called.text, frames);
      has_calls = !called.calls.empty();
      for (std::size_t i = 0; i < called.calls.size(); ++i) {
        Json block = block_of(answer, called.calls[i], i);
        block["input"] = Json::object();
        open("", std::move(block), frames);
        delta({{"type", "input_json_delta"}, {"partial_json", json_text(called.calls[i].arguments)}}, frames);
      }
    }
    if (blocks_ == 0) open("text", {{"type", "text"}, {"text", ""}}, frames);
    close(frames);
    Json end = {{"delta", {{"stop_reason", reason_of(text, has_calls)}, {"stop_sequence", stop_of(text)}}},
                {"usage", {{"output_tokens", text.tokens.size()}}}};
    add(frames, "message_delta", std::move(end));
  }
  void end(const Answer& answer, Frames& frames) override {
    Json last = Json::object();
    if (!answer.report.is_null()) last["x_plm"] = answer.report;
    add(frames, "message_stop", std::move(last));
  }
  void failed(const Failure& failure, Frames& frames) override {
    frames.push_back(sse(failure_json(failure), "error"));
  }

 private:
  static Json message(const Answer& answer) {
    return {{"id", "msg_" + answer.id}, {"type", "message"}, {"role", "assistant"}, {"model", answer.model}};
  }
  static const char* reason_of(const TextResult& text, bool has_calls) {
    if (has_calls) return "tool_use";
    switch (text.reason) {
      case FinishReason::stop: return "stop_sequence";
      case FinishReason::length: return "max_tokens";
      case FinishReason::context: return "model_context_window_exceeded";
      default: return "end_turn";
    }
  }
  static Json stop_of(const TextResult& text) { return text.stop.empty() ? Json() : Json(text.stop); }
  static Json block_of(const Answer& answer, const ToolCall& call, std::size_t index) {
    return {{"type", "tool_use"},
            {"id", fmt::format("toolu_{}_{}", answer.id, index)},
            {"name", call.name},
            {"input", call.arguments}};
  }
  static void add(Frames& frames, std::string_view type, Json json) {
    Json event = {{"type", type}};
    event.update(json);
    frames.push_back(sse(event, type));
  }
  // Opens a block unless one of that kind is open; an empty kind is always a new one.
  void open(std::string_view kind, Json block, Frames& frames) {
    if (!kind.empty() && kind == open_) return;
    close(frames);
    add(frames, "content_block_start", {{"index", blocks_}, {"content_block", std::move(block)}});
    open_ = kind.empty() ? "tool_use" : kind;
    ++blocks_;
  }
  void close(Frames& frames) {
    if (!open_.empty()) add(frames, "content_block_stop", {{"index", blocks_ - 1}});
    open_ = {};
  }
  void delta(Json json, Frames& frames) {
    add(frames, "content_block_delta", {{"index", blocks_ - 1}, {"delta", std::move(json)}});
  }
  void add_text(const std::string& text, Frames& frames) {
    open("text", {{"type", "text"}, {"text", ""}}, frames);
    delta({{"type", "text_delta"}, {"text", text}}, frames);
  }

  Json tools_;  // in OpenAI's form; empty: none
  ToolCallFilter filter_;
  std::string_view open_;  // the kind of the block that is open
  std::size_t blocks_ = 0;
};

Result<std::string> text_of(const Json& content, std::string_view where) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return fail(ErrorKind::usage, "{}: expected a text or an array of blocks", where);
  for (const Json& block : content) {
    if (!block.is_object() || block.value("type", Json()) != "text" || !block.contains("text") ||
        !block["text"].is_string()) {
      return fail(ErrorKind::usage, "{}: found a block that is no text, expected text", where);
    }
    text += block["text"].get<std::string>();
  }
  return text;
}

// One message of theirs is one or more of OpenAI's: the results of tools are messages of their own there.
Result<void> add_message(const Json& message, const std::string& where, Json& messages) {
  if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
    return fail(ErrorKind::usage, "{}: expected a message with a role", where);
  }
  const Json content = message.value("content", Json());
  const std::string role = message["role"].get<std::string>();
  if (!content.is_array()) {
    PLM_TRY_ASSIGN(const std::string text, text_of(content, where));
    messages.push_back(chat_message(role, text));
    return {};
  }
  Json one = chat_message(role, "");
  std::string text;
  for (const Json& block : content) {
    const Json type = block.is_object() ? block.value("type", Json()) : Json();
    if (type == "text" && block.contains("text") && block["text"].is_string()) {
      text += block["text"].get<std::string>();
    } else if (type == "thinking") {
      one["reasoning_content"] = block.value("thinking", Json(""));
    } else if (type == "redacted_thinking") {
      continue;
    } else if (type == "tool_use") {
      one["tool_calls"].push_back(
          {{"id", block.value("id", Json(""))},
           {"type", "function"},
           {"function",
            {{"name", block.value("name", Json(""))}, {"arguments", block.value("input", Json::object())}}}});
    } else if (type == "tool_result") {
      PLM_TRY_ASSIGN(const std::string result, text_of(block.value("content", Json("")), where));
      Json told = chat_message("tool", result);
      told["tool_call_id"] = block.value("tool_use_id", Json(""));
      messages.push_back(std::move(told));
    } else {
      return fail(ErrorKind::usage, "{}: found a block of type {}, expected text, thinking, tool_use or tool_result",
                  where, printable(json_text(type), 40));
    }
  }
  one["content"] = text;
  if (!text.empty() || one.contains("tool_calls") || role == "assistant") messages.push_back(std::move(one));
  return {};
}

// Theirs: {"name", "description", "input_schema"}.
Json openai_tools(const Json* tools) {
  Json list = Json::array();
  if (tools == nullptr) return list;
  for (const Json& tool : *tools) {
    if (!tool.is_object()) continue;
    list.push_back({{"type", "function"},
                    {"function",
                     {{"name", tool.value("name", Json(""))},
                      {"description", tool.value("description", Json(""))},
                      {"parameters", tool.value("input_schema", Json::object())}}}});
  }
  return list;
}

Result<Json> conversation_of(const Call& call) {
  const Json* given = call.fields.find("messages");
  if (given == nullptr) return fail(ErrorKind::usage, "messages: missing, expected an array of messages");
  Json messages = Json::array();
  if (const Json* system = call.fields.find("system"); system != nullptr) {
    PLM_TRY_ASSIGN(const std::string text, text_of(*system, "system"));
    if (!text.empty()) messages.push_back(chat_message("system", text));
  }
  for (std::size_t i = 0; i < given->size(); ++i) {
    PLM_TRY(add_message((*given)[i], fmt::format("messages[{}]", i), messages));
  }
  Json conversation = {{"messages", messages}};
  // An answer that has been begun is gone on with.
  if (!messages.empty() && messages.back()["role"] == "assistant") conversation["continue_final_message"] = true;
  if (const Json* thinking = call.fields.find("thinking"); thinking != nullptr) {
    conversation["enable_thinking"] = thinking->value("type", Json()) != "disabled";
  }
  const Json tools = openai_tools(call.fields.find("tools"));
  if (!tools.empty()) conversation["tools"] = tools;
  return conversation;
}

Result<Plan> messages(const Call& call) {
  if (!call.fields.has("max_tokens") || *call.fields.integer("max_tokens") < 1) {
    return fail(ErrorKind::usage, "max_tokens: expected a whole number of at least 1");
  }
  auto text = std::make_unique<TextPlan>();
  PLM_TRY(read_text_fields(call.fields, {}, call.model, *text));
  if (text->count > 1) return fail(ErrorKind::usage, "n: this API has one answer");
  PLM_TRY_ASSIGN(const Json conversation, conversation_of(call));
  if (const Json* choice = call.fields.find("tool_choice"); choice != nullptr) {
    const Json type = choice->value("type", Json());
    if (type != "auto" && type != "none") {
      text->report.ignored.emplace_back("tool_choice");
      text->report.notes.emplace_back("tool_choice: a call cannot be forced without constraints; the model chooses");
    }
  }
  PLM_TRY(read_conversation(conversation, call.model, *text));
  PLM_TRY(check_plan(call.fields, call.model, *text));
  Plan plan;
  plan.text = std::move(text);
  plan.form = std::make_unique<MessagesForm>(conversation.value("tools", Json::array()));
  return plan;
}

Result<Plan> count_tokens(const Call& call) {
  PLM_TRY_ASSIGN(const Json conversation, conversation_of(call));
  TextPlan text;
  PLM_TRY(read_conversation(conversation, call.model, text));
  return answer_now({{"input_tokens", text.prompts.front().tokens.size()}});
}

constexpr Route kRoutes[] = {
    {"POST", "/v1/messages", "answers in a conversation", kTables, messages},
    {"POST", "/v1/messages/count_tokens", "counts a conversation's tokens", kTables, count_tokens},
};

}  // namespace

extern constinit const Dialect dialect_anthropic = {
    .head = {.name = "anthropic",
             .summary = "Anthropic's Messages API",
             .source = "Anthropic's API reference; ecosystem notes, 1.4"},
    .routes = kRoutes,
    .failure = failure_json,
};

}  // namespace plm
