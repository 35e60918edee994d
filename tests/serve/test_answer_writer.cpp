#include "serve/answer_writer.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "serve/served_twin.h"

namespace plm {
namespace {

// A text of bytes at random: characters are cut at every place, and some are none.
TEST(AnswerWriter, PiecesAreCharactersAndJoinToTheWhole) {
  const std::pair<const char*, Json> requests[] = {
      {"/v1/completions", {{"prompt", "A1"}}},
      {"/completion", {{"prompt", "A1"}, {"n_probs", 1}}},
      {"/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "A1"}}}}}}};
  for (const auto& [path, body] : requests) {
    for (int seed = 0; seed < 6; ++seed) {
      Json one = body;
      one.update(Json{{"temperature", 2},
                      {"top_p", 1.0},
                      {"top_k", 0},
                      {"min_p", 0},
                      {"seed", seed},
                      {"max_tokens", 60},
                      {"logit_bias", {{"195", 6}, {"169", 6}, {"240", 6}, {"159", 6}}},
                      {"ignore_eos", true}});
      const Json whole = twin().post(path, one).json();
      one["stream"] = true;
      std::string joined;
      for (const std::string& piece : twin().post(path, one).pieces) EXPECT_TRUE(utf8_is_valid(piece));
      for (const Json& event : twin().post(path, one).events()) {
        if (event.contains("content")) joined += event["content"].get<std::string>();
        for (const Json& choice : event.value("choices", Json::array())) {
          joined += choice.contains("text") ? choice["text"].get<std::string>() : choice["delta"].value("content", "");
        }
      }
      const std::string text = whole.contains("content") ? whole["content"].get<std::string>()
                               : whole["choices"][0].contains("text")
                                   ? whole["choices"][0]["text"].get<std::string>()
                                   : whole["choices"][0]["message"]["content"].get<std::string>();
      EXPECT_EQ(joined, text) << path << " seed " << seed;
    }
  }
}

TEST(AnswerWriter, BannedPhrasesLeaveNoTrace) {
  const Json body = {
      {"prompt", kSum}, {"temperature", 0}, {"banned_strings", {"112"}}, {"logprobs", 1}, {"max_tokens", 8}};
  const Json whole = twin().post("/v1/completions", body).json()["choices"][0];
  const std::string text = whole["text"].get<std::string>();
  EXPECT_EQ(text.find("112"), std::string::npos);
  std::string of_tokens;
  for (const Json& token : whole["logprobs"]["tokens"]) of_tokens += token.get<std::string>();
  EXPECT_EQ(of_tokens, text);
}

TEST(AnswerWriter, FailuresBeforeTheFirstByteAreAStatus) {
  const Failure usage = failure_of({ErrorKind::usage, "top_p: 7 is out of range"});
  EXPECT_EQ(usage.status, 400);
  EXPECT_EQ(usage.field, "top_p");
  EXPECT_EQ(failure_of({ErrorKind::usage, "prompt[3]: found 5"}).field, "prompt");
  EXPECT_EQ(failure_of({ErrorKind::usage, "the model is tired"}).field, "");
  EXPECT_EQ(failure_of({ErrorKind::no_room, "x"}).status, 503);
  EXPECT_GT(failure_of({ErrorKind::no_room, "x"}).retry_after_s, 0);
  EXPECT_EQ(failure_of({ErrorKind::failed, "x"}).status, 500);
}

// A model that fills masks: its text comes when it can no longer change.
TEST(AnswerWriter, PagesStreamTheirStablePrefix) {
  ServedTwin masked("twin-mdm");
  const Json body = {{"prompt", kSum}, {"max_tokens", 8}};
  const Json whole = masked.post("/v1/completions", body).json();
  Json streamed = body;
  streamed["stream"] = true;
  std::string joined;
  for (const Json& event : masked.post("/v1/completions", streamed).events()) {
    joined += event["choices"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(joined, whole["choices"][0]["text"].get<std::string>());
  EXPECT_EQ(joined, "1124");
  EXPECT_EQ(masked.post("/v1/completions", {{"prompt", kSum}, {"logprobs", 1}}).json()["error"]["param"], "logprobs");
}

}  // namespace
}  // namespace plm
