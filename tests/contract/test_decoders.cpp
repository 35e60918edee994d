// What every registered decoder promises, whatever its algorithm: given tokens stay, no mask token is committed, it
// ends, equal jobs give equal events, the events rebuild the canvas, and it may be dropped at every pass it waits for.
#include <gtest/gtest.h>

#include <algorithm>

#include "decode/event_replay.h"
#include "engine/engine.h"
#include "kernels/cpu_device.h"

namespace plm {
namespace {

struct Options {
  std::string prompt = "S84901>";
  std::size_t max_tokens = 12;
  const char* temperature = "0";
  std::uint64_t seed = 3;
};

// One text under way: the decoder on a session of the engine.
class Writing {
 public:
  Writing(Engine& engine, const DecoderDefinition& decoder, const Options& options = {})
      : prompt_(engine.tokenizer().encode(options.prompt).value()),
        session_(engine.open_session([this](const Event& event) { events.push_back(event); })),
        policy_(make_policy(engine, decoder, options)),
        job(make_job(engine, options)) {
    job.parallel = policy_.get();
    for (const TokenId token : prompt_) job.canvas.append_given(token);
    task_ = decoder.run(*session_, job);
    task_.start();
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  [[nodiscard]] bool is_done() const { return task_.done(); }
  [[nodiscard]] Result<DecodeOutcome> outcome() { return task_.take(); }
  [[nodiscard]] DecodeOutcome take() { return task_.take().value(); }
  [[nodiscard]] EventReplay replay() const {
    EventReplay replayed(prompt_);
    for (const Event& event : events) replayed.apply(event);
    return replayed;
  }
  [[nodiscard]] const std::vector<TokenId>& prompt() const { return prompt_; }

  std::vector<Event> events;

 private:
  static DecodeJob make_job(const Engine& engine, const Options& options) {
    Settings settings(sampling_parameters());
    EXPECT_TRUE(settings.set_text("temperature", options.temperature).has_value());
    const auto ends = engine.vocabulary().end_of_generation();
    return {.chain = Chain::create(settings).value(),
            .text = TextStream(engine.vocabulary(), StopMatcher::create({"77"}).value()),
            .max_tokens = options.max_tokens,
            .end_tokens = {ends.begin(), ends.end()},
            .seed = options.seed};
  }

  static std::unique_ptr<const ParallelPolicy> make_policy(const Engine& engine, const DecoderDefinition& decoder,
                                                           const Options& options) {
    if (!decoder.fills_masks) return nullptr;
    Settings settings(parallel_parameters());
    EXPECT_TRUE(settings.set_text("page_temperature", options.temperature).has_value());
    EXPECT_TRUE(settings.set_text("block_length", "8").has_value());
    return std::make_unique<const ParallelPolicy>(ParallelPolicy::create(settings, *engine.diffusion()).value());
  }

  std::vector<TokenId> prompt_;
  std::unique_ptr<EngineSession> session_;
  std::unique_ptr<const ParallelPolicy> policy_;

 public:
  DecodeJob job;

 private:
  Task<Result<DecodeOutcome>> task_;  // last, so that it goes first
};

// Works for at most so many batches; a text of a few tokens needs far fewer.
void run(Engine& engine, int most_batches = 500) {
  ASSERT_TRUE(engine.run([&] { return most_batches-- == 0; }).has_value());
}

bool same_event(const Event& a, const Event& b) {
  return a.kind == b.kind && a.cell == b.cell && a.token == b.token && a.position == b.position && a.rows == b.rows &&
         a.probability == b.probability && a.text == b.text && a.reason == b.reason;
}

class EveryDecoder : public testing::TestWithParam<const DecoderDefinition*> {
 protected:
  static std::unique_ptr<Engine> load() {
    EngineOptions options{.context_length = 48, .most_sequences = 2};
    const DecoderDefinition& decoder = *GetParam();
    const bool is_page = decoder.fills_masks, drafts = decoder.head.name == "self_speculation";
    if (decoder.head.name == "edit") options.overrides = {"diffusion.kind=edit"};
    const bool is_uniform = decoder.head.name == "uniform";
    if (is_uniform) options.overrides = {"diffusion.kind=uniform"};
    const std::string model = drafts || is_uniform ? "/twin-tri.gguf" : is_page ? "/twin-mdm.gguf" : "/twin-ar.gguf";
    return Engine::load(PLM_MODELS + model, make_cpu_device({.threads = 1}), options).value();
  }
  // Whether it writes what is likeliest only.
  static bool drafts() { return GetParam()->head.name == "self_speculation"; }
  std::unique_ptr<Engine> engine_ = load();
};

TEST_P(EveryDecoder, IsDescribed) {
  EXPECT_FALSE(GetParam()->head.summary.empty());
  EXPECT_FALSE(GetParam()->head.source.empty());
  EXPECT_EQ(find_decoder(GetParam()->head.name), GetParam());
}

TEST_P(EveryDecoder, KeepsWhatIsGivenAndCommitsRealTokens) {
  const auto mask = engine_->vocabulary().special(SpecialToken::mask);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Writing writing(*engine_, *GetParam(), {.temperature = seed % 2 == 0 || drafts() ? "0" : "1.2", .seed = seed});
    run(*engine_);
    ASSERT_TRUE(writing.is_done());
    for (const Event& event : writing.events) {
      const bool is_edit = event.kind == EventKind::committed || event.kind == EventKind::replaced ||
                           event.kind == EventKind::revoked || event.kind == EventKind::deleted;
      if (!is_edit) continue;
      EXPECT_GE(event.cell, writing.prompt().size()) << "the first cells are the given ones";
      if (event.kind != EventKind::committed && event.kind != EventKind::replaced) continue;
      EXPECT_TRUE(engine_->vocabulary().contains(event.token));
      EXPECT_NE(event.token, mask.value_or(kNoToken));
    }
    const Canvas& canvas = writing.job.canvas;
    ASSERT_GE(canvas.size(), writing.prompt().size());
    for (std::size_t i = 0; i < writing.prompt().size(); ++i) {
      EXPECT_EQ(canvas.at(i).status, CellStatus::given);
      EXPECT_EQ(canvas.at(i).token, writing.prompt()[i]);
    }
  }
}

TEST_P(EveryDecoder, EndsWithAReasonWithinItsLimits) {
  for (const std::string& prompt : {std::string("A"), std::string("S84901>"), std::string(45, 'x')}) {
    for (const std::size_t max_tokens : {0U, 1U, 5U, 1000U}) {
      Writing writing(*engine_, *GetParam(), {.prompt = prompt, .max_tokens = max_tokens});
      run(*engine_);
      ASSERT_TRUE(writing.is_done()) << prompt << " " << max_tokens;
      const Result<DecodeOutcome> result = writing.outcome();
      if (GetParam()->fills_masks && !result.has_value()) {  // a page is whole or not begun
        EXPECT_EQ(result.error().kind, ErrorKind::usage);
        EXPECT_NE(result.error().message.find("context"), std::string::npos) << result.error().message;
        EXPECT_GT(prompt.size() + 1 + 2 * max_tokens, engine_->context_length());
        continue;
      }
      const DecodeOutcome outcome = result.value();
      EXPECT_NE(outcome.reason, FinishReason::none);
      EXPECT_LE(outcome.tokens.size(), max_tokens);
      EXPECT_LE(writing.job.canvas.size(), engine_->context_length());
      const auto finished = std::count_if(writing.events.begin(), writing.events.end(),
                                          [](const Event& event) { return event.kind == EventKind::finished; });
      EXPECT_EQ(finished, 1);
      EXPECT_EQ(writing.events.back().kind, EventKind::finished);
      EXPECT_EQ(writing.events.back().reason, outcome.reason);
    }
  }
}

TEST_P(EveryDecoder, EqualJobsGiveEqualEventsThatRebuildTheCanvas) {
  for (const std::string& prompt : {std::string("A385+739="), std::string("Thot hev:")}) {
    Writing first(*engine_, *GetParam(), {.prompt = prompt}), second(*engine_, *GetParam(), {.prompt = prompt});
    run(*engine_);
    EXPECT_TRUE(std::ranges::equal(first.events, second.events, same_event));
    const EventReplay replayed = first.replay();
    EXPECT_EQ(replayed.canvas().tokens(), first.job.canvas.tokens());
    const std::string text = detokenize(engine_->vocabulary(), first.take().tokens);
    EXPECT_EQ(text.find(replayed.text()), 0U) << "a stop string and what follows are cut off";
  }
}

// At every pass in turn the decoder is dropped, beside one that goes on. Were a page lost each time, there would soon
// be none left; what else might be lost the sanitizers find.
TEST_P(EveryDecoder, MayBeDroppedAtEveryPass) {
  const Options options{.prompt = "Thot hev:", .max_tokens = 20};
  Writing judge(*engine_, *GetParam(), options);
  int passes = 0;
  ASSERT_TRUE(engine_->run([&] { return ++passes == 500; }).has_value());
  ASSERT_TRUE(judge.is_done());
  ASSERT_GT(passes, 1);
  const DecodeOutcome expected = judge.take();

  for (int served = 0; served < passes; ++served) {
    Writing beside(*engine_, *GetParam(), options);
    {
      Writing dropped(*engine_, *GetParam(), {.prompt = "K.43.1.42..144.2.:", .max_tokens = 28});
      int batches = 0;
      ASSERT_TRUE(engine_->run([&] { return batches++ == served; }).has_value());
    }
    run(*engine_);
    ASSERT_TRUE(beside.is_done()) << "after " << served << " batches";
    const DecodeOutcome outcome = beside.take();
    EXPECT_EQ(outcome.tokens, expected.tokens);
    EXPECT_EQ(outcome.reason, expected.reason);
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, EveryDecoder, testing::ValuesIn(decoders().begin(), decoders().end()),
                         [](const auto& decoder) { return std::string(decoder.param->head.name); });

}  // namespace
}  // namespace plm
