#include <gtest/gtest.h>

#include <cmath>

#include "base/base64.h"
#include "engine/score.h"
#include "serve/served_twin.h"

namespace plm {
namespace {

const Json kGreedy = {{"prompt", kSum}, {"temperature", 0}};

Json with(Json body, const Json& more) {
  body.update(more);
  return body;
}

TEST(DialectOpenai, CompletesWholeAndInPieces) {
  const Json whole = twin().post("/v1/completions", kGreedy).json();
  EXPECT_EQ(whole["object"], "text_completion");
  EXPECT_EQ(whole["choices"][0]["text"], "1124");
  EXPECT_EQ(whole["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(whole["choices"][0]["logprobs"], nullptr);
  EXPECT_EQ(whole["usage"]["prompt_tokens"], 10);
  EXPECT_EQ(whole["usage"]["completion_tokens"], 4);

  const Reply stream =
      twin().post("/v1/completions", with(kGreedy, {{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  EXPECT_EQ(stream.pieces.back(), "data: [DONE]\n\n");
  std::string text;
  for (const Json& event : stream.events()) {
    for (const Json& choice : event["choices"]) text += choice["text"].get<std::string>();
  }
  EXPECT_EQ(text, "1124");
  EXPECT_EQ(stream.events().back()["usage"]["completion_tokens"], 4);
  EXPECT_TRUE(stream.events().back()["choices"].empty());
}

TEST(DialectOpenai, LengthStopAndSixteenTokens) {
  const auto finish = [](const Json& more) {
    const Json json = twin().post("/v1/completions", with(kGreedy, more)).json();
    return std::pair(json["choices"][0]["text"].get<std::string>(),
                     json["choices"][0]["finish_reason"].get<std::string>());
  };
  EXPECT_EQ(finish({{"max_tokens", 2}}), std::pair(std::string("11"), std::string("length")));
  EXPECT_EQ(finish({{"stop", "24"}}), std::pair(std::string("11"), std::string("stop")));
  EXPECT_EQ(finish({{"stop", {"x", "2"}}}).first, "11");
  EXPECT_EQ(finish({{"max_tokens", 0}}), std::pair(std::string(), std::string("length")));
  const Json json = twin().post("/v1/completions", with(kGreedy, {{"ignore_eos", true}})).json();
  EXPECT_EQ(json["usage"]["completion_tokens"], 16) << "what OpenAI's server writes where nothing is said";
}

TEST(DialectOpenai, SeveralPromptsAndTexts) {
  const Json ids = twin().post("/tokenize", {{"content", kSum}, {"add_special", true}}).json()["tokens"];
  for (const Json& prompt : {Json{kSum, "A1+1="}, Json{ids, ids}}) {
    const Json json = twin().post("/v1/completions", {{"prompt", prompt}, {"temperature", 0}, {"n", 2}}).json();
    ASSERT_EQ(json["choices"].size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(json["choices"][i]["index"], i);
    EXPECT_EQ(json["choices"][0]["text"], "1124");
    EXPECT_EQ(json["choices"][1]["text"], "1124");
  }
  const Json of_ids = twin().post("/v1/completions", {{"prompt", ids}, {"temperature", 0}}).json();
  EXPECT_EQ(of_ids["choices"][0]["text"], "1124");
  const Json seeds =
      twin().post("/v1/completions", {{"prompt", "A1"}, {"temperature", 1.5}, {"seed", 7}, {"n", 3}}).json();
  for (int i = 0; i < 3; ++i) {
    const Json one = twin().post("/v1/completions", {{"prompt", "A1"}, {"temperature", 1.5}, {"seed", 7 + i}}).json();
    EXPECT_EQ(one["choices"][0]["text"], seeds["choices"][static_cast<std::size_t>(i)]["text"]);
  }
  const Json best =
      twin().post("/v1/completions", {{"prompt", kSum}, {"temperature", 1}, {"seed", 1}, {"best_of", 8}}).json();
  ASSERT_EQ(best["choices"].size(), 1U);
  EXPECT_EQ(best["choices"][0]["text"], "1124") << "the likeliest of eight";
}

// What lm-eval asks, and what it makes of the answer: the log-likelihood of a continuation.
TEST(DialectOpenai, EchoGivesThePromptsLogProbabilities) {
  const Json ids = twin().post("/tokenize", {{"content", kSum + "1124"}, {"add_special", true}}).json()["tokens"];
  const Json json = twin()
                        .post("/v1/completions", {{"model", "twin"},
                                                  {"prompt", {ids, ids}},
                                                  {"temperature", 0},
                                                  {"max_tokens", 1},
                                                  {"logprobs", 1},
                                                  {"seed", 1234},
                                                  {"echo", true}})
                        .json();
  ASSERT_EQ(json["choices"].size(), 2U);
  const auto engine = load_engine(std::string(PLM_MODELS) + "/twin-ar.gguf");
  std::vector<double> expected;
  const std::vector<TokenId> tokens = ids.get<std::vector<TokenId>>();
  (void)score(*engine, {.ids = tokens}, [&](const ScoredPosition& position) {
    if (position.log_probability.has_value()) expected.push_back(*position.log_probability);
  }).value();
  for (const Json& choice : json["choices"]) {
    const Json& logprobs = choice["logprobs"];
    const Json& values = logprobs["token_logprobs"];
    ASSERT_GE(values.size(), ids.size());
    ASSERT_LE(values.size(), ids.size() + 1);
    EXPECT_EQ(values[0], nullptr);
    EXPECT_EQ(logprobs["top_logprobs"][0], nullptr);
    for (std::size_t i = 1; i < ids.size(); ++i) {
      EXPECT_EQ(values[i].get<double>(), expected[i - 1]) << "as plm score has it, bit for bit";
      const Json& top = logprobs["top_logprobs"][i];
      EXPECT_TRUE(top.contains(logprobs["tokens"][i].get<std::string>()));
    }
    std::string text;
    for (const Json& token : logprobs["tokens"]) text += token.get<std::string>();
    EXPECT_EQ(text.find("<bos>" + kSum + "1124"), 0U);
    EXPECT_EQ(logprobs["text_offset"][1], 5);
  }
}

TEST(DialectOpenai, PiecesHoldTheLogProbabilitiesOfTheWhole) {
  const Json body = with(kGreedy, {{"logprobs", 3}});
  const Json whole = twin().post("/v1/completions", body).json()["choices"][0]["logprobs"];
  Json joined = {{"tokens", Json::array()}, {"token_logprobs", Json::array()}, {"text_offset", Json::array()}};
  for (const Json& event : twin().post("/v1/completions", with(body, {{"stream", true}})).events()) {
    for (const Json& choice : event["choices"]) {
      if (choice["logprobs"].is_null()) continue;
      for (auto& [name, list] : joined.items()) {
        for (const Json& value : choice["logprobs"][name]) list.push_back(value);
      }
    }
  }
  for (const auto& [name, list] : joined.items()) EXPECT_EQ(list, whole[name]) << name;
  EXPECT_EQ(whole["top_logprobs"][0].size(), 3U);
}

TEST(DialectOpenai, Converses) {
  const Json messages = {{{"role", "user"}, {"content", kSum}}};
  const Json whole = twin()
                         .post("/v1/chat/completions", {{"messages", messages},
                                                        {"max_completion_tokens", 8},
                                                        {"temperature", 0},
                                                        {"logprobs", true},
                                                        {"top_logprobs", 2}})
                         .json();
  EXPECT_EQ(whole["object"], "chat.completion");
  const Json& choice = whole["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  const std::string said = choice["message"]["content"].get<std::string>();
  EXPECT_EQ(choice["logprobs"]["content"].size(), whole["usage"]["completion_tokens"].get<std::size_t>());
  const Reply stream = twin().post("/v1/chat/completions",
                                   {{"messages", messages}, {"max_tokens", 8}, {"temperature", 0}, {"stream", true}});
  std::string text;
  for (const Json& event : stream.events()) text += event["choices"][0]["delta"].value("content", "");
  EXPECT_EQ(text, said);
  EXPECT_EQ(stream.events()[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(twin().post("/v1/chat/completions", {{"messages", {{{"role", 5}}}}}).json()["error"]["param"], "messages");
  EXPECT_EQ(twin().post("/v1/chat/completions", Json::object()).status, 400);
}

TEST(DialectOpenai, RefusesAPromptThatDoesNotFitWithBothCounts) {
  const std::string longer(ServedTwin::kContext + 10, 'a');
  const Reply reply = twin().post("/v1/completions", {{"prompt", longer}});
  EXPECT_EQ(reply.status, 400);
  const std::string message = reply.json()["error"]["message"].get<std::string>();
  EXPECT_NE(message.find(std::to_string(longer.size() + 1)), std::string::npos) << message;
  EXPECT_NE(message.find(std::to_string(ServedTwin::kContext)), std::string::npos) << message;
  for (const char* how : {"front", "middle"}) {
    const Json cut =
        twin()
            .post("/v1/completions", {{"prompt", longer}, {"max_tokens", 4}, {"truncate", how}, {"x_plm", true}})
            .json();
    EXPECT_EQ(cut["usage"]["prompt_tokens"], ServedTwin::kContext - 4);
    EXPECT_EQ(cut["x_plm"]["clamped"], Json{"prompt"});
  }
}

TEST(DialectOpenai, EmbedsTexts) {
  const Json list = twin().post("/v1/embeddings", {{"input", {"one", "two"}}}).json();
  ASSERT_EQ(list["data"].size(), 2U);
  const auto values = list["data"][0]["embedding"].get<std::vector<float>>();
  const Json packed = twin().post("/v1/embeddings", {{"input", "one"}, {"encoding_format", "base64"}}).json();
  const std::string bytes = base64_decode(packed["data"][0]["embedding"].get<std::string>()).value();
  ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), values.data(), bytes.size()), 0);
  EXPECT_EQ(twin().post("/v1/embeddings", {{"input", Json::array()}}).status, 400);
  EXPECT_EQ(twin().post("/v1/embeddings", {{"input", 5}}).json()["error"]["param"], "input");
}

TEST(DialectOpenai, ListsItsModel) {
  EXPECT_EQ(twin().get("/v1/models").json()["data"][0]["id"], "twin-ar");
  EXPECT_EQ(twin().get("/v1/models/twin-ar").json()["id"], "twin-ar");
  EXPECT_EQ(twin().get("/v1/models/other").status, 404);
}

}  // namespace
}  // namespace plm
