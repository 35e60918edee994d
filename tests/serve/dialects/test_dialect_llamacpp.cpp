#include <gtest/gtest.h>

#include "serve/served_twin.h"

namespace plm {
namespace {

TEST(DialectLlamacpp, CompletesWithBothShapesOfProbabilities) {
  const Json json =
      twin()
          .post("/completion", {{"prompt", kSum}, {"temperature", 0}, {"n_probs", 2}, {"return_tokens", true}})
          .json();
  EXPECT_EQ(json["content"], "1124");
  EXPECT_EQ(json["stop_type"], "eos");
  EXPECT_EQ(json["tokens"].size(), 4U);
  EXPECT_EQ(json["tokens_predicted"], 4);
  EXPECT_EQ(json["tokens_evaluated"], 10);
  ASSERT_EQ(json["completion_probabilities"].size(), 4U);
  const Json& first = json["completion_probabilities"][0];
  EXPECT_EQ(first["token"], "1");
  EXPECT_EQ(first["top_logprobs"].size(), 2U);
  EXPECT_EQ(first["top_logprobs"][0]["token"], first["probs"][0]["tok_str"]);
  EXPECT_NEAR(std::exp(first["top_logprobs"][0]["logprob"].get<double>()), first["probs"][0]["prob"].get<double>(),
              1e-9);
}

TEST(DialectLlamacpp, SaysWhatStoppedIt) {
  const Json word = twin().post("/completion", {{"prompt", kSum}, {"temperature", 0}, {"stop", {"12"}}}).json();
  EXPECT_EQ(word["content"], "1");
  EXPECT_EQ(word["stop_type"], "word");
  EXPECT_EQ(word["stopping_word"], "12");
  const Json limit = twin().post("/completion", {{"prompt", kSum}, {"temperature", 0}, {"n_predict", 1}}).json();
  EXPECT_EQ(limit["stop_type"], "limit");
  const Json some =
      twin().post("/completion", {{"prompt", kSum}, {"temperature", 0}, {"response_fields", {"content"}}}).json();
  EXPECT_EQ(some, (Json{{"content", "1124"}}));
}

TEST(DialectLlamacpp, StreamsToAnEndWithTimings) {
  const auto events = twin().post("/completion", {{"prompt", kSum}, {"temperature", 0}, {"stream", true}}).events();
  std::string text;
  for (const Json& event : events) text += event["content"].get<std::string>();
  EXPECT_EQ(text, "1124");
  EXPECT_EQ(events.front()["stop"], false);
  EXPECT_EQ(events.back()["stop"], true);
  EXPECT_TRUE(events.back()["timings"].contains("predicted_per_second"));
}

TEST(DialectLlamacpp, TokenizesAsItAndAsVllmAsks) {
  const Json plain = twin().post("/tokenize", {{"content", "A1"}}).json();
  EXPECT_EQ(plain["tokens"].size(), 2U);
  EXPECT_EQ(plain["count"], 2);
  const Json vllm = twin().post("/tokenize", {{"model", "m"}, {"prompt", "A1"}}).json();
  EXPECT_EQ(vllm["tokens"].size(), 3U) << "vLLM puts the beginning in front";
  const Json bare = twin().post("/tokenize", {{"prompt", "A1"}, {"add_special_tokens", false}}).json();
  EXPECT_EQ(bare["tokens"], plain["tokens"]);
  const Json back = twin().post("/detokenize", {{"tokens", plain["tokens"]}}).json();
  EXPECT_EQ(back["content"], "A1");
  EXPECT_EQ(back["prompt"], "A1");
  EXPECT_EQ(twin().post("/detokenize", {{"tokens", {99999}}}).json()["error"]["param"], "tokens");
  const Json pieces = twin().post("/tokenize", {{"content", "\xC3\xA9"}, {"with_pieces", true}}).json();
  EXPECT_EQ(pieces["tokens"][0]["piece"], Json{0xC3}) << "half a character is a byte";
}

TEST(DialectLlamacpp, TellsAboutItself) {
  const Json props = twin().get("/props").json();
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], ServedTwin::kContext);
  EXPECT_EQ(props["bos_token"], "<bos>");
  EXPECT_FALSE(props["chat_template"].get<std::string>().empty());
  EXPECT_EQ(twin().get("/slots").json().size(), props["total_slots"].get<std::size_t>());
  const Json messages = {{{"role", "user"}, {"content", "hello"}}};
  const Json applied = twin().post("/apply-template", {{"messages", messages}}).json();
  EXPECT_NE(applied["prompt"].get<std::string>().find("hello"), std::string::npos);
}

TEST(DialectLlamacpp, KnowsItsSamplersAndNoOthers) {
  const auto ask = [](const Json& samplers) {
    return twin().post("/completion", {{"prompt", kSum}, {"n_predict", 1}, {"samplers", samplers}, {"x_plm", true}});
  };
  EXPECT_EQ(ask({"top_k", "tfs_z", "typical_p", "top_p", "min_p", "temperature"}).status, 200);
  EXPECT_EQ(ask("kpmt").status, 200);
  EXPECT_EQ(ask({"Top-K", "temp"}).status, 200);
  const Reply unknown = ask({"top_k", "magic"});
  EXPECT_EQ(unknown.status, 400);
  EXPECT_NE(unknown.body.find("magic"), std::string::npos);
  EXPECT_EQ(unknown.json()["error"]["param"], "samplers");
}

TEST(DialectLlamacpp, BreakersComeInTwoShapes) {
  for (const Json& breakers : {Json{"\n", ":"}, Json("[\"\\n\", \":\"]"), Json("\n")}) {
    const Reply reply =
        twin().post("/completion",
                    {{"prompt", kSum}, {"n_predict", 1}, {"dry_multiplier", 0.8}, {"dry_sequence_breakers", breakers}});
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
}

TEST(DialectLlamacpp, InfillNeedsAModelThatWasMadeForIt) {
  const Json body = {{"input_prefix", "A385+"}, {"input_suffix", "=1124"}, {"n_predict", 3}};
  EXPECT_EQ(twin().post("/infill", body).status, 400);
  ServedTwin masked("twin-mdm");
  const Reply filled = masked.post("/infill", body);
  EXPECT_EQ(filled.status, 200) << filled.body;
  EXPECT_EQ(filled.json()["content"], "9") << "as plm infill fills A385+{{hole:3}}=1124";
}

}  // namespace
}  // namespace plm
