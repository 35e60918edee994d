#include <gtest/gtest.h>

#include "serve/served_twin.h"

namespace plm {
namespace {

const Json kMessages = {{{"role", "user"}, {"content", {{{"type", "text"}, {"text", kSum}}}}}};

TEST(DialectAnthropic, AnswersWithBlocks) {
  const Json json =
      twin()
          .post("/v1/messages", {{"model", "m"}, {"max_tokens", 6}, {"messages", kMessages}, {"temperature", 0}})
          .json();
  EXPECT_EQ(json["type"], "message");
  EXPECT_EQ(json["content"][0]["type"], "text");
  EXPECT_GT(json["usage"]["input_tokens"].get<int>() + json["usage"]["cache_read_input_tokens"].get<int>(), 8);
  EXPECT_EQ(twin().post("/v1/messages", {{"messages", kMessages}}).json()["error"]["type"], "invalid_request_error");
}

TEST(DialectAnthropic, StreamsItsSequenceOfEvents) {
  const Json body = {{"max_tokens", 6}, {"messages", kMessages}, {"temperature", 0}};
  const Json whole = twin().post("/v1/messages", body).json();
  Json streamed = body;
  streamed["stream"] = true;
  const Reply reply = twin().post("/v1/messages", streamed);
  std::vector<std::string> types;
  std::string text;
  for (const Json& event : reply.events()) {
    const std::string type = event["type"].get<std::string>();
    if (types.empty() || types.back() != type) types.push_back(type);
    if (type == "content_block_delta") text += event["delta"]["text"].get<std::string>();
  }
  EXPECT_EQ(types, (std::vector<std::string>{"message_start", "ping", "content_block_start", "content_block_delta",
                                             "content_block_stop", "message_delta", "message_stop"}));
  EXPECT_EQ(text, whole["content"][0]["text"]);
  EXPECT_EQ(reply.pieces[0].find("event: message_start\n"), 0U);
}

TEST(DialectAnthropic, UnderstandsToolsAndTheirResults) {
  const Json messages = {
      {{"role", "user"}, {"content", "What time is it?"}},
      {{"role", "assistant"},
       {"content", {{{"type", "tool_use"}, {"id", "t1"}, {"name", "time"}, {"input", {{"zone", "UTC"}}}}}}},
      {{"role", "user"}, {"content", {{{"type", "tool_result"}, {"tool_use_id", "t1"}, {"content", "noon"}}}}}};
  const Json tools = {{{"name", "time"}, {"description", "tells it"}, {"input_schema", {{"type", "object"}}}}};
  const Json body = {{"max_tokens", 4}, {"system", "Be brief."}, {"messages", messages}, {"tools", tools}};
  EXPECT_EQ(twin().post("/v1/messages", body).status, 200);
  Json counted = body;
  counted.erase("max_tokens");
  EXPECT_GT(twin().post("/v1/messages/count_tokens", counted).json()["input_tokens"].get<int>(), 20);
  const Json image = {{{"role", "user"}, {"content", {{{"type", "image"}}}}}};
  EXPECT_EQ(twin().post("/v1/messages", {{"max_tokens", 4}, {"messages", image}}).status, 400);
}

}  // namespace
}  // namespace plm
