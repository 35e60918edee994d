// Rewards of texts and of steps against an independent oracle.
#include "engine/reward.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine_runs.h"
#include "model/oracle_numbers.h"
#include "text/chat/conversation.h"

namespace plm {
namespace {

std::unique_ptr<Engine> scorer(const std::string& name) {
  return load_engine(std::string(PLM_GOLDEN) + "/huggingface/" + name, {.use = ModelUse::scoring});
}
std::shared_ptr<const SafetensorsFile> golden(const std::string& name) {
  return SafetensorsFile::open(std::string(PLM_GOLDEN) + "/oracle/" + name + ".golden.safetensors").value();
}

TEST(Reward, AScoreIsReadAtTheLastToken) {
  const auto engine = scorer("llama_reward");
  const auto oracle = golden("llama_reward");
  std::vector<FramedText> texts{{.tokens = golden_ids(*oracle, "input_ids")}};
  texts.push_back(texts[0]);
  texts[1].tokens.resize(10);
  const auto rewards = reward(*engine, texts).value();
  EXPECT_LE(largest_difference(rewards[0].scores, golden_floats(*oracle, "score")), 1e-4F);
  EXPECT_NEAR(rewards[1].scores[0], golden_floats(*oracle, "score_per_token")[9], 1e-4F);
  EXPECT_TRUE(rewards[0].steps.empty());
}

TEST(Reward, StepsAreReadAtTheirToken) {
  const auto engine = scorer("qwen2_prm");
  const auto oracle = golden("qwen2_prm");
  const std::vector<FramedText> texts{{.tokens = golden_ids(*oracle, "input_ids")}};
  const auto rewards = reward(*engine, texts, TokenId{5}).value();
  const auto expected = golden_floats(*oracle, "step_scores");
  ASSERT_EQ(rewards[0].steps.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(rewards[0].steps[i], expected[i], 1e-5);
}

TEST(Reward, AConversationIsJudgedInTheModelsForm) {
  const auto engine = scorer("llama_reward");
  const Json messages =
      Json::array({chat_message("user", "a <|eos|> b"), chat_message("assistant", "c<|mask|>d<|mask|>")});
  const auto framed = frame_conversation(*engine, messages, "<|mask|>").value();
  const TokenId mask = step_token(*engine, "<|mask|>").value();
  EXPECT_EQ(std::count(framed.tokens.begin(), framed.tokens.end(), mask), 2) << "steps become their token";
  const auto eos = engine->tokenizer().encode("<|eos|>", {.add_special = false, .parse_special = true}).value();
  const auto plain = frame_conversation(*engine, messages).value();
  EXPECT_EQ(std::count(plain.tokens.begin(), plain.tokens.end(), mask), 0)
      << "without being asked, no message's words do";
  EXPECT_EQ(std::count(plain.tokens.begin(), plain.tokens.end(), eos[0]), 2) << "one a message, from the template";
}

TEST(Reward, RefusesWhatHasNoScore) {
  const auto engine = scorer("qwen2_prm");
  const std::vector<FramedText> without{{.tokens = {7, 8, 9}}}, empty{{}};
  const auto message = [](const Result<std::vector<Reward>>& done) {
    return done.has_value() ? std::string("accepted") : done.error().message;
  };
  EXPECT_NE(message(reward(*engine, without, TokenId{5})).find("text 1: no step in it"), std::string::npos);
  EXPECT_NE(message(reward(*engine, empty)).find("text 1: empty"), std::string::npos);
  EXPECT_FALSE(step_token(*engine, "two words").has_value());
  const auto writer = load_engine(std::string(PLM_MODELS) + "/twin-ar.gguf", {.use = ModelUse::scoring});
  EXPECT_NE(message(reward(*writer, without)).find("has no head that scores"), std::string::npos);
}

}  // namespace
}  // namespace plm
