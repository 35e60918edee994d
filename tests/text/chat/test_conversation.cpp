#include "text/chat/conversation.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

Conversation parsed(std::string_view text) {
  auto conversation = Conversation::parse(Json::parse(text));
  if (!conversation.has_value()) throw std::runtime_error(conversation.error().message);
  return *conversation;
}

std::string refusal(std::string_view text) {
  const auto conversation = Conversation::parse(Json::parse(text));
  if (conversation.has_value()) return "accepted";
  EXPECT_EQ(conversation.error().kind, ErrorKind::usage);
  return conversation.error().message;
}

TEST(Conversation, AnArrayOfMessagesIsEnough) {
  const Conversation conversation = parsed(R"([{"role": "user", "content": "hi"}])");
  EXPECT_EQ(conversation.messages, Json::array({chat_message("user", "hi")}));
  EXPECT_TRUE(conversation.add_generation_prompt);
  EXPECT_FALSE(conversation.continue_final_message);
  EXPECT_FALSE(conversation.enable_thinking.has_value());
  EXPECT_TRUE(conversation.tools.is_null());
}

TEST(Conversation, PartsBecomeOneText) {
  const Conversation conversation = parsed(
      R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}, "c"]}])");
  EXPECT_EQ(conversation.messages[0]["content"], "abc");
  EXPECT_EQ(refusal(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])"),
            "messages[0].content[0]: a part of type \"image_url\", expected text; images and sound are not understood");
}

TEST(Conversation, ToolCallsHaveOneForm) {
  const Conversation conversation = parsed(R"([
    {"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
      "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": [2]}"}}]},
    {"role": "assistant", "content": null, "tool_calls": [{"name": "g", "arguments": {"x": 1}}]},
    {"role": "assistant", "content": "x", "tool_calls": null},
    {"role": "tool", "tool_call_id": "1", "content": "ok"}])");
  EXPECT_EQ(json_text(conversation.messages[0]["tool_calls"][0]["function"]["arguments"]), R"({"b":1,"a":[2]})");
  EXPECT_TRUE(conversation.messages[0]["content"].is_null());
  EXPECT_EQ(json_text(conversation.messages[1]["tool_calls"][0]),
            R"({"function":{"name":"g","arguments":{"x":1}},"type":"function"})");
  EXPECT_FALSE(conversation.messages[2].contains("tool_calls"));
  EXPECT_EQ(conversation.messages[3]["tool_call_id"], "1");
}

TEST(Conversation, TheWholeRequest) {
  const Conversation conversation = parsed(R"({"messages": [{"role": "assistant", "content": "Sure"}],
    "tools": [{"name": "f"}, {"type": "function", "function": {"name": "g"}}], "documents": [{"text": "d"}],
    "continue_final_message": true, "chat_template_kwargs": {"enable_thinking": false, "colour": "red"}})");
  EXPECT_EQ(conversation.tools[0], Json({{"type", "function"}, {"function", {{"name", "f"}}}}));
  EXPECT_EQ(conversation.documents.size(), 1U);
  EXPECT_TRUE(conversation.continue_final_message);
  EXPECT_FALSE(conversation.add_generation_prompt);
  EXPECT_EQ(conversation.enable_thinking, false);
  EXPECT_EQ(conversation.variables, Json({{"colour", "red"}}));
  EXPECT_TRUE(parsed(R"({"messages": [{"role": "user", "content": ""}], "tools": []})").tools.is_null());
}

TEST(Conversation, ErrorsNameThePlace) {
  EXPECT_EQ(refusal("3"), "conversation: 3, expected an array of messages");
  EXPECT_EQ(refusal("{}"), "messages: missing; expected an array of messages");
  EXPECT_EQ(refusal("[]"), "messages: empty; expected at least one message");
  EXPECT_EQ(refusal("[7]"), "messages[0]: 7, expected an object");
  EXPECT_EQ(refusal(R"([{"content": "x"}])"), "messages[0].role: missing; expected system, user, assistant or tool");
  EXPECT_EQ(refusal(R"([{"role": 1}])"), "messages[0].role: 1, expected system, user, assistant or tool");
  EXPECT_EQ(refusal(R"([{"role": "user"}])"),
            "messages[0].content: missing, and there are no tool_calls; expected a string");
  EXPECT_EQ(refusal(R"([{"role": "user", "content": 5}])"),
            "messages[0].content: 5, expected a string, null or an array of parts");
  EXPECT_EQ(refusal(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}])"),
            "messages[0].tool_calls[0].function.arguments: [1], expected an object");
  EXPECT_EQ(refusal(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}])")
                .find("messages[0].tool_calls[0].function.arguments: not valid JSON"),
            0U);
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user", "content": ""}], "tools": [{}]})"),
            "tools[0].function: missing or without a \"name\"");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user", "content": ""}], "continue_final_message": true,
                        "add_generation_prompt": true})"),
            "continue_final_message: true, and so is add_generation_prompt; only one of them can be");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user", "content": ""}], "enable_thinking": 1})"),
            "enable_thinking: 1, expected true or false");
}

TEST(Conversation, HasLimits) {
  const Json request = Json::array({chat_message("user", "hello"), chat_message("user", "world")});
  EXPECT_FALSE(Conversation::parse(request, {.messages = 1}).has_value());
  EXPECT_FALSE(Conversation::parse(request, {.text_bytes = 9}).has_value());
  EXPECT_TRUE(Conversation::parse(request, {.messages = 2, .text_bytes = 10}).has_value());
}

}  // namespace
}  // namespace plm
