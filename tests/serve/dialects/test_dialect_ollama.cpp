#include <gtest/gtest.h>

#include "serve/served_twin.h"

namespace plm {
namespace {

TEST(DialectOllama, GeneratesALineForEachPiece) {
  const Json options = {{"temperature", 0}, {"num_predict", 20}};
  const Json body = {{"model", "twin"}, {"prompt", kSum}, {"raw", true}, {"options", options}};
  const Reply stream = twin().post("/api/generate", body);
  std::string text;
  for (const std::string& piece : stream.pieces) {
    EXPECT_EQ(std::ranges::count(piece, '\n'), 1) << "one object a line, one line a write";
    EXPECT_TRUE(piece.ends_with('\n'));
    text += parse_json(piece, "line").value()["response"].get<std::string>();
  }
  EXPECT_EQ(text, "1124");
  const Json last = stream.events().back();
  EXPECT_EQ(last["done"], true);
  EXPECT_EQ(last["eval_count"], 4);
  Json whole = body;
  whole["stream"] = false;
  EXPECT_EQ(twin().post("/api/generate", whole).json()["response"], "1124");
}

TEST(DialectOllama, ChatsAndLoads) {
  const Json messages = {{{"role", "user"}, {"content", kSum}}};
  const Json chat =
      twin().post("/api/chat", {{"messages", messages}, {"stream", false}, {"options", {{"num_predict", 4}}}}).json();
  EXPECT_EQ(chat["message"]["role"], "assistant");
  EXPECT_EQ(chat["done"], true);
  EXPECT_EQ(twin().post("/api/generate", {{"model", "twin"}}).json()["done_reason"], "load");
  EXPECT_EQ(twin().post("/api/chat", {{"model", "twin"}, {"messages", Json::array()}}).json()["done_reason"], "load");
}

TEST(DialectOllama, SaysWhichOptionsItHasNot) {
  const Json options = {{"temperature", 0}, {"mirostat", 2}, {"num_ctx", 1 << 20}, {"num_predict", 2}, {"nonsense", 1}};
  const Json json =
      twin()
          .post(
              "/api/generate",
              {{"prompt", kSum}, {"raw", true}, {"stream", false}, {"options", options}, {"x_plm", true}, {"bogus", 1}})
          .json();
  const Json report = json["x_plm"];
  for (const char* name : {"mirostat", "nonsense", "bogus"}) {
    EXPECT_TRUE(std::ranges::any_of(report["ignored"], [&](const Json& one) { return one == name; })) << name << report;
  }
  EXPECT_EQ(report["clamped"], Json{"num_ctx"});
}

TEST(DialectOllama, TellsAboutItself) {
  EXPECT_EQ(twin().get("/api/tags").json()["models"][0]["name"], "twin-ar");
  EXPECT_EQ(twin().get("/api/ps").json()["models"][0]["model"], "twin-ar");
  EXPECT_TRUE(twin().get("/api/version").json().contains("version"));
  const Json show = twin().post("/api/show", {{"model", "twin-ar"}}).json();
  EXPECT_EQ(show["model_info"]["llama.context_length"], ServedTwin::kContext);
  EXPECT_EQ(twin().post("/api/embed", {{"model", "m"}, {"input", {"a", "b"}}}).json()["embeddings"].size(), 2U);
  EXPECT_TRUE(twin().post("/api/embeddings", {{"model", "m"}, {"prompt", "a"}}).json()["embedding"].is_array());
}

}  // namespace
}  // namespace plm
