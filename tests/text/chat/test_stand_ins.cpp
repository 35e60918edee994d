#include "text/chat/stand_ins.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

constexpr ChatAbilities kAll{.system = true,
                             .developer = true,
                             .tools = true,
                             .tool_calls = true,
                             .tool_results = true,
                             .null_content = true,
                             .thinking_switch = true};

Conversation with_calls() {
  return Conversation::parse(Json::parse(R"({"messages": [
    {"role": "developer", "content": "D"}, {"role": "user", "content": "U"},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]},
    {"role": "tool", "name": "f", "content": "7"}], "tools": [{"name": "f", "description": "F"}]})"))
      .value();
}

std::string adapted(Conversation conversation, const ChatAbilities& abilities, std::size_t notes) {
  std::vector<std::string> said;
  const Conversation result = with_stand_ins(std::move(conversation), abilities, said);
  EXPECT_EQ(said.size(), notes);
  return json_text({{"messages", result.messages}, {"tools", result.tools}});
}

TEST(StandIns, NothingChangesWhereNothingIsMissing) {
  const Conversation conversation = with_calls();
  EXPECT_EQ(adapted(conversation, kAll, 0),
            json_text({{"messages", conversation.messages}, {"tools", conversation.tools}}));
}

TEST(StandIns, WithoutAnythingThereAreOnlyMessagesOfTheUserAndTheModel) {
  std::vector<std::string> notes;
  const Conversation result = with_stand_ins(with_calls(), {}, notes);
  EXPECT_EQ(notes.size(), 3U);
  EXPECT_TRUE(result.tools.is_null());
  ASSERT_EQ(result.messages.size(), 3U);
  const std::string first = result.messages[0]["content"];
  EXPECT_EQ(result.messages[0]["role"], "user");
  EXPECT_EQ(first.find("D\n\nYou can use tools."), 0U);
  EXPECT_NE(first.find("\n{\"name\":\"f\",\"description\":\"F\"}\n\nU"), std::string::npos) << first;
  EXPECT_EQ(result.messages[1], chat_message("assistant", R"({"tool_calls":[{"name":"f","arguments":{"x":1}}]})"));
  EXPECT_EQ(result.messages[2], chat_message("user", "Result of the tool f:\n7"));
}

TEST(StandIns, ResultsAloneCanBeMissing) {
  ChatAbilities abilities = kAll;
  abilities.tool_results = false;
  std::vector<std::string> notes;
  const Conversation result = with_stand_ins(with_calls(), abilities, notes);
  EXPECT_TRUE(result.messages[2].contains("tool_calls"));
  EXPECT_EQ(result.messages[3], chat_message("user", "Result of the tool f:\n7"));
}

TEST(StandIns, SystemMessagesGoInFrontOfTheUsersNextOne) {
  const auto folded = [](std::string_view messages) {
    std::vector<std::string> notes;
    ChatAbilities abilities = kAll;
    abilities.system = false;
    std::string text;
    const auto result = with_stand_ins(Conversation::parse(Json::parse(messages)).value(), abilities, notes);
    for (const Json& message : result.messages) {
      text += message["role"].get<std::string>() + ":" + message["content"].get<std::string>() + ";";
    }
    return text;
  };
  EXPECT_EQ(folded(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "U"},
                       {"role": "system", "content": "T"}, {"role": "assistant", "content": "A"}])"),
            "user:S\n\nU;user:T;assistant:A;");
  EXPECT_EQ(folded(R"([{"role": "system", "content": "S"}])"), "user:S;");
}

TEST(StandIns, FormsThatATemplateWants) {
  ChatAbilities abilities = kAll;
  abilities.object_arguments = abilities.null_content = false;
  abilities.parts = true;
  std::vector<std::string> notes;
  const Conversation result = with_stand_ins(with_calls(), abilities, notes);
  EXPECT_EQ(result.messages[2]["tool_calls"][0]["function"]["arguments"], R"({"x":1})");
  EXPECT_EQ(json_text(result.messages[2]["content"]), R"([{"type":"text","text":""}])");
  EXPECT_EQ(json_text(result.messages[1]["content"]), R"([{"type":"text","text":"U"}])");
}

}  // namespace
}  // namespace plm
