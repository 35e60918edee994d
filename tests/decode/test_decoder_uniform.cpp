// Uniform diffusion on made-up networks: what is accepted, what gets new noise, when a canvas has come to rest, and
// what the network is told of the pass before.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "decode/decoder.h"
#include "decode/event_replay.h"
#include "tiny_vocabulary.h"

namespace plm {
namespace {

// A session whose network is a function of the pass, and which writes down what it was shown.
class CanvasSession : public Session {
 public:
  using Network = std::function<std::vector<float>(std::size_t pass, std::size_t position)>;
  struct Shown {
    std::vector<TokenId> tokens;
    std::vector<std::int32_t> types;
    std::vector<std::vector<float>> soft;
    StateUse state;
    std::size_t stored;
  };

  explicit CanvasSession(Network network) : network_(std::move(network)) {}
  std::vector<Shown> passes;
  std::vector<Event> events;

  void serve() {
    while (waiter_ != nullptr) std::exchange(waiter_, nullptr).resume();
  }
  [[nodiscard]] std::size_t state_length() const override { return stored_; }
  void truncate_state(std::size_t length) override { stored_ = length; }
  [[nodiscard]] std::size_t context_length() const override { return 100; }
  void emit(const Event& event) override { events.push_back(event); }

 protected:
  void submit(const PassRequest& request, std::coroutine_handle<> waiter) override {
    request_ = &request;
    waiter_ = waiter;
  }
  Result<PassAnswer> take_answer() override {
    Shown& shown = passes.emplace_back();
    shown.tokens.assign(request_->tokens.begin(), request_->tokens.end());
    shown.types.assign(request_->types.begin(), request_->types.end());
    for (const auto& row : request_->soft_tokens) shown.soft.emplace_back(row.begin(), row.end());
    shown.state = request_->state;
    shown.stored = stored_;
    PassAnswer answer;
    for (const Yield& yield : request_->yields) {
      answer.statistics.emplace_back();
      answer.results.emplace_back().values = network_(passes.size() - 1, stored_ + yield.row);
    }
    if (request_->state == StateUse::append) stored_ += request_->tokens.size();
    return answer;
  }

 private:
  Network network_;
  std::size_t stored_ = 0;
  const PassRequest* request_ = nullptr;
  std::coroutine_handle<> waiter_ = nullptr;
};

std::vector<float> sure_of(TokenId token, float lead) {
  std::vector<float> logits(kTinyVocabularySize, 0.0F);
  logits[static_cast<std::size_t>(token)] = lead;
  return logits;
}

struct Refined {
  CanvasSession session;
  std::optional<Result<DecodeOutcome>> outcome;
  std::vector<TokenId> canvas;

  Refined(CanvasSession::Network network, std::size_t length,
          std::initializer_list<std::pair<const char*, const char*>> parameters = {})
      : session(std::move(network)) {
    Settings settings(parallel_parameters());
    for (const auto& [name, value] : parameters) EXPECT_TRUE(settings.set_text(name, value).has_value()) << name;
    const DiffusionTraits traits{
        .noise = DiffusionNoise::uniform, .attention = DiffusionAttention::causal_context, .block_length = 4};
    const ParallelPolicy policy = ParallelPolicy::create(settings, traits).value();
    DecodeJob job{.chain = Chain::create(Settings(sampling_parameters())).value(),
                  .text = TextStream(tiny_vocabulary()),
                  .max_tokens = length,
                  .end_tokens = {kEnd},
                  .seed = 11,
                  .parallel = &policy};
    for (const TokenId token : {kC, kA}) job.canvas.append_given(token);
    auto task = find_decoder("uniform")->run(session, job);
    task.start();
    session.serve();
    outcome = task.take();
    const std::vector<TokenId> given = {kC, kA};
    EventReplay replay(given);
    for (const Event& event : session.events) replay.apply(event);
    canvas = job.canvas.tokens();
    EXPECT_EQ(replay.canvas().tokens(), canvas);
  }
  [[nodiscard]] const std::vector<TokenId>& tokens() const { return outcome->value().tokens; }
};

TEST(DecoderUniform, ACanvasRestsWhenItsLikeliestTokensStayAndAreCertain) {
  const Refined run([](std::size_t, std::size_t position) { return sure_of(position % 2 == 0 ? kA : kB, 60); }, 4);
  EXPECT_EQ(run.tokens(), (std::vector<TokenId>{kA, kB, kA, kB}));
  ASSERT_EQ(run.session.passes.size(), 3U) << "the prompt, and two passes that agree";
  EXPECT_EQ(run.session.passes[0].state, StateUse::append);
  EXPECT_TRUE(run.session.passes[0].types.empty());
  EXPECT_EQ(run.session.passes[1].types, std::vector<std::int32_t>(4, 1));
  EXPECT_EQ(run.session.passes[2].tokens, (std::vector<TokenId>{kA, kB, kA, kB})) << "accepted";
}

TEST(DecoderUniform, ItIsToldWhatThePassBeforeThoughtAtThatTemperature) {
  const Refined run([](std::size_t, std::size_t) { return sure_of(kB, 2); }, 4,
                    {{"refine_passes", "2"}, {"refine_temperature", "0.8"}, {"refine_temperature_last", "0.4"}});
  ASSERT_EQ(run.session.passes.size(), 3U);
  for (const auto& row : run.session.passes[1].soft) EXPECT_TRUE(row.empty()) << "nothing before the first";
  ASSERT_EQ(run.session.passes[2].soft.size(), 4U);
  const double lead = std::exp(2 / 0.8), others = static_cast<double>(kTinyVocabularySize) - 1;
  for (const auto& row : run.session.passes[2].soft) {
    ASSERT_EQ(row.size(), kTinyVocabularySize);
    EXPECT_NEAR(row[kB], lead / (lead + others), 1e-6);
    EXPECT_NEAR(row[kA], 1 / (lead + others), 1e-6);
  }
  EXPECT_EQ(run.tokens(), std::vector<TokenId>(4, kB)) << "passes end, and the likeliest tokens stand";
}

TEST(DecoderUniform, WhatIsTooUncertainGetsNewNoise) {
  // Positions 2 and 3 are certain, 4 and 5 say nothing.
  const auto network = [](std::size_t, std::size_t position) { return sure_of(kA, position < 4 ? 60 : 0); };
  const Refined run(network, 4, {{"refine_passes", "8"}, {"refine_entropy", "0.1"}});
  std::set<std::vector<TokenId>> noise;
  for (std::size_t pass = 2; pass < run.session.passes.size(); ++pass) {
    const std::vector<TokenId>& shown = run.session.passes[pass].tokens;
    EXPECT_EQ(shown[0], kA);
    EXPECT_EQ(shown[1], kA);
    noise.insert({shown[2], shown[3]});
  }
  EXPECT_EQ(run.session.passes.size(), 9U) << "it never comes to rest";
  EXPECT_GT(noise.size(), 2U);
}

TEST(DecoderUniform, WhatWasAcceptedMayGoAgain) {
  const auto network = [](std::size_t pass, std::size_t) { return sure_of(kA, pass == 2 ? 0.0F : 60.0F); };
  const Refined run(network, 4, {{"refine_passes", "6"}});
  std::size_t revoked = 0;
  for (const Event& event : run.session.events) revoked += event.kind == EventKind::revoked ? 1 : 0;
  EXPECT_EQ(revoked, 3U) << "the bound lets one uncertain position pass";
  EXPECT_EQ(run.tokens(), std::vector<TokenId>(4, kA));
}

TEST(DecoderUniform, FinishedCanvasesAreReadCausallyAndATextEndsInOne) {
  const auto network = [](std::size_t, std::size_t position) { return sure_of(position == 8 ? kEnd : kB, 60); };
  const Refined run(network, 20);
  EXPECT_EQ(run.tokens(), std::vector<TokenId>(6, kB));
  EXPECT_EQ(run.outcome->value().reason, FinishReason::end_of_text);
  const CanvasSession::Shown& read = run.session.passes[3];
  EXPECT_EQ(read.state, StateUse::append);
  EXPECT_EQ(read.stored, 2U);
  EXPECT_EQ(read.tokens, std::vector<TokenId>(4, kB));
  EXPECT_EQ(run.session.passes.size(), 6U);
}

TEST(DecoderUniform, ModelsAndDecodersThatDoNotFitAreRefused) {
  const ParallelPolicy policy =
      ParallelPolicy::create(
          Settings(parallel_parameters()),
          {.noise = DiffusionNoise::uniform, .attention = DiffusionAttention::causal_context, .block_length = 4})
          .value();
  DecodeJob job{.chain = Chain::create(Settings(sampling_parameters())).value(),
                .text = TextStream(tiny_vocabulary()),
                .max_tokens = 4,
                .parallel = &policy};
  job.canvas.append_given(kA);
  CanvasSession session([](std::size_t, std::size_t) { return sure_of(kA, 1); });
  auto task = find_decoder("diffusion")->run(session, job);
  task.start();
  const auto outcome = task.take();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_NE(outcome.error().message.find("uniform"), std::string::npos);
}

}  // namespace
}  // namespace plm
