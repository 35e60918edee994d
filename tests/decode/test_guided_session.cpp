#include "decode/guided_session.h"

#include <gtest/gtest.h>

#include <cmath>

#include "decode/decoder.h"
#include "decode/scripted_session.h"
#include "decode/tiny_vocabulary.h"

namespace plm {
namespace {

const std::vector<TokenId> kPrompt{kC, kA, kB};
const std::vector<TokenId> kNegative{kB, kB};

// Two sessions that answer together and resume their decoder once, as the scheduler does.
struct Pair {
  explicit Pair(const ScriptedSession::Network& network) : main(network, 64), guide(network, 32) {}
  void serve_all() {
    while (main.is_waiting()) {
      if (guide.is_waiting()) guide.prepare();
      main.serve();
    }
  }
  ScriptedSession main, guide;
};

// What the row says depends on the number of tokens seen and on the last one.
std::vector<float> network(std::span<const TokenId> seen) {
  std::vector<float> logits(kTinyVocabularySize);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    logits[id] = static_cast<float>(
        std::sin(static_cast<double>(id * 7 + seen.size() * 3) + static_cast<double>(seen.back() * 5 + seen.front())));
  }
  logits[kEnd] = logits[kTurn] = -5;
  return logits;
}

DecodeJob job_of(std::size_t max_tokens) {
  Settings settings(sampling_parameters());
  EXPECT_TRUE(settings.set_text("temperature", "0").has_value());
  DecodeJob job{.chain = Chain::create(settings).value(),
                .text = TextStream(tiny_vocabulary()),
                .max_tokens = max_tokens,
                .is_guided = true};
  for (const TokenId token : kPrompt) job.canvas.append_given(token);
  return job;
}

std::vector<TokenId> expected_tokens(std::size_t count, double scale) {
  std::vector<TokenId> main = kPrompt, guide = kNegative, written;
  for (std::size_t i = 0; i < count; ++i) {
    const auto with = network(main), without = network(guide);
    std::size_t best = 0;
    std::vector<double> z;
    for (std::size_t id = 0; id < with.size(); ++id) {
      z.push_back(scale * (static_cast<double>(with[id]) - static_cast<double>(without[id])) +
                  static_cast<double>(without[id]));
      if (z[id] > z[best]) best = id;
    }
    written.push_back(static_cast<TokenId>(best));
    main.push_back(written.back());
    guide.push_back(written.back());
  }
  return written;
}

std::vector<TokenId> guided_tokens(Pair& pair, std::size_t count, float scale) {
  GuidedSession session(pair.main, pair.guide,
                        {.prompt_length = kPrompt.size(), .negative_prompt = kNegative, .scale = scale});
  DecodeJob job = job_of(count);
  auto task = find_decoder("autoregressive")->run(session, job);
  task.start();
  pair.serve_all();
  EXPECT_TRUE(task.done());
  return task.take()->tokens;
}

TEST(GuidedSession, CombinesTheTwoRowsByTheScale) {
  for (const float scale : {0.0F, 1.0F, 1.5F, 4.0F}) {
    Pair pair(network);
    EXPECT_EQ(guided_tokens(pair, 12, scale), expected_tokens(12, static_cast<double>(scale))) << scale;
  }
}

TEST(GuidedSession, TheGuideSeesTheSameTextBehindTheNegativePrompt) {
  Pair pair(network);
  const auto tokens = guided_tokens(pair, 4, 2);
  ASSERT_EQ(pair.guide.passes.size(), 4U);
  EXPECT_EQ(pair.guide.passes[0].tokens, kNegative);
  EXPECT_EQ(pair.guide.passes[0].yields[0].row, 1U);
  EXPECT_EQ(pair.guide.passes[1].tokens, std::vector<TokenId>{tokens[0]});
  EXPECT_EQ(pair.guide.stored.size(), kNegative.size() + 3);
}

TEST(GuidedSession, CutsBothStates) {
  Pair pair(network);
  GuidedSession session(pair.main, pair.guide,
                        {.prompt_length = kPrompt.size(), .negative_prompt = kNegative, .scale = 2});
  pair.main.stored = {kC, kA, kB, kA, kA};
  pair.guide.stored = {kB, kB, kA, kA};
  session.truncate_state(4);
  EXPECT_EQ(pair.main.stored.size(), 4U);
  EXPECT_EQ(pair.guide.stored.size(), 3U);
  session.truncate_state(2);
  EXPECT_EQ(pair.guide.stored.size(), 0U);
  EXPECT_EQ(session.context_length(), 33U) << "the shorter negative prompt leaves one cell more";
}

}  // namespace
}  // namespace plm
