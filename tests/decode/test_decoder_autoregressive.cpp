// The decoder decoder_autoregressive (src/decode/decoders/decoder_autoregressive.cpp) against a scripted network: what
// it asks for, where it draws, how each text ends, and that its events leave nothing out.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "decode/decoder.h"
#include "decode/event_replay.h"
#include "decode/scripted_session.h"
#include "decode/tiny_vocabulary.h"

namespace plm {
namespace {

const std::vector<TokenId> kPrompt{kC, kA, kB};

// A network that wants the tokens of `script` one after another behind the prompt, and then the first for ever.
ScriptedSession::Network wants(std::vector<TokenId> script) {
  return [script = std::move(script)](std::span<const TokenId> seen) {
    const std::size_t step = seen.size() - kPrompt.size();
    std::vector<float> logits(kTinyVocabularySize, -1.0F);
    logits[static_cast<std::size_t>(step < script.size() ? script[step] : script[0])] = 3.0F;
    return logits;
  };
}

// A network whose answer depends on everything that the row sees.
std::vector<float> hashes(std::span<const TokenId> seen) {
  std::uint64_t hash = 1;
  for (const TokenId token : seen) hash = hash * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(token) + 1;
  std::vector<float> logits(kTinyVocabularySize);
  for (std::uint32_t id = 0; id < logits.size(); ++id) {
    logits[id] = static_cast<float>(4 * uniform({.seed = hash, .cell = id}));
  }
  return logits;
}

Settings sampling(const char* temperature) {
  Settings settings(sampling_parameters());
  EXPECT_TRUE(settings.set_text("temperature", temperature).has_value());
  return settings;
}

DecodeJob job_with(const char* temperature, std::size_t max_tokens, std::vector<std::string> stops = {}) {
  DecodeJob job{.chain = Chain::create(sampling(temperature)).value(),
                .text = TextStream(tiny_vocabulary(), StopMatcher::create(std::move(stops)).value()),
                .max_tokens = max_tokens,
                .end_tokens = {kEnd, kTurn},
                .seed = 5};
  for (const TokenId token : kPrompt) job.canvas.append_given(token);
  return job;
}

Task<Result<DecodeOutcome>> start(ScriptedSession& session, DecodeJob& job) {
  Task<Result<DecodeOutcome>> task = find_decoder("autoregressive")->run(session, job);
  task.start();
  return task;
}

Result<DecodeOutcome> run(ScriptedSession& session, DecodeJob& job) {
  Task<Result<DecodeOutcome>> task = start(session, job);
  session.serve_all();
  EXPECT_TRUE(task.done());
  return task.take();
}

EventReplay replay(const ScriptedSession& session) {
  EventReplay replayed(kPrompt);
  for (const Event& event : session.events) replayed.apply(event);
  return replayed;
}

TEST(DecoderAutoregressive, IsFoundByItsNames) {
  EXPECT_NE(find_decoder("autoregressive"), nullptr);
  EXPECT_EQ(find_decoder("ar"), find_decoder("autoregressive"));
  EXPECT_EQ(find_decoder("nonsense"), nullptr);
}

TEST(DecoderAutoregressive, AsksForTheNewRowsAndForTheLastOnly) {
  ScriptedSession session(wants({kA, kB, kC}), 64);
  DecodeJob job = job_with("0", 3);
  EXPECT_EQ(run(session, job)->tokens, (std::vector<TokenId>{kA, kB, kC}));
  ASSERT_EQ(session.passes.size(), 3U) << "the last token needs no pass";
  EXPECT_EQ(session.passes[0].tokens, kPrompt);
  EXPECT_EQ(session.passes[1].tokens, std::vector<TokenId>{kA});
  EXPECT_EQ(session.passes[2].tokens, std::vector<TokenId>{kB});
  for (const auto& pass : session.passes) {
    EXPECT_EQ(pass.state, StateUse::append);
    EXPECT_EQ(pass.sight, Sight::causal);
    ASSERT_EQ(pass.yields.size(), 1U);
    EXPECT_EQ(pass.yields[0].row, pass.tokens.size() - 1);
    EXPECT_EQ(pass.yields[0].kind, YieldKind::statistics) << "greedy needs no logits on the host";
  }
}

TEST(DecoderAutoregressive, UsesTheStateThatIsThere) {
  ScriptedSession fresh(hashes, 64), warm(hashes, 64);
  warm.stored = {kPrompt[0], kPrompt[1]};
  DecodeJob job = job_with("0.9", 10), again = job_with("0.9", 10);
  EXPECT_EQ(run(fresh, job)->tokens, run(warm, again)->tokens);
  EXPECT_EQ(warm.passes[0].tokens, std::vector<TokenId>{kPrompt[2]});
}

// The draw is a function of seed and position alone: choosing again from the same logits gives the same token.
TEST(DecoderAutoregressive, DrawsAtThePlaceOfTheCell) {
  ScriptedSession session(hashes, 64);
  DecodeJob job = job_with("0.8", 20);
  job.end_tokens.clear();
  const auto outcome = run(session, job);
  ASSERT_EQ(outcome->tokens.size(), 20U);
  EXPECT_EQ(session.passes[0].yields[0].kind, YieldKind::logits);

  Chain chain = Chain::create(sampling("0.8")).value();
  Candidates workspace;
  std::vector<TokenId> seen = kPrompt;
  for (const TokenId token : outcome->tokens) {
    const DrawPlace place{.seed = 5, .cell = static_cast<std::uint32_t>(seen.size())};
    EXPECT_EQ(chain.select(hashes(seen), place, workspace)->id, token);
    seen.push_back(token);
  }
}

TEST(DecoderAutoregressive, AnEndTokenEndsTheTextAndIsNotWritten) {
  for (const TokenId end : {kEnd, kTurn}) {
    ScriptedSession session(wants({kA, end, kB}), 64);
    DecodeJob job = job_with("0", 10);
    const auto outcome = run(session, job);
    EXPECT_EQ(outcome->reason, FinishReason::end_of_text);
    EXPECT_EQ(outcome->tokens, std::vector<TokenId>{kA});
    EXPECT_EQ(session.passes.size(), 2U);
    EXPECT_EQ(job.canvas.at(4).token, end) << "on the canvas it stands";
    EXPECT_EQ(replay(session).text(), "a");
  }
}

TEST(DecoderAutoregressive, WithoutEndTokensItGoesOn) {
  ScriptedSession session(wants({kA, kEnd, kB}), 64);
  DecodeJob job = job_with("0", 3);
  job.end_tokens.clear();
  const auto outcome = run(session, job);
  EXPECT_EQ(outcome->reason, FinishReason::length);
  EXPECT_EQ(outcome->tokens, (std::vector<TokenId>{kA, kEnd, kB}));
}

TEST(DecoderAutoregressive, AStopStringAcrossTokensEndsTheTextBeforeIt) {
  ScriptedSession session(wants({kC, kAB, kC, kA}), 64);
  DecodeJob job = job_with("0", 10, {"bc"});
  const auto outcome = run(session, job);
  EXPECT_EQ(outcome->reason, FinishReason::stop);
  EXPECT_EQ(outcome->tokens, (std::vector<TokenId>{kC, kAB, kC}));
  EXPECT_EQ(replay(session).text(), "ca");
}

TEST(DecoderAutoregressive, EndsByLengthAndByContext) {
  struct Case {
    std::size_t max_tokens, context_length, written;
    FinishReason reason;
  };
  for (const Case& c :
       {Case{4, 64, 4, FinishReason::length}, Case{9, 5, 2, FinishReason::context}, Case{2, 5, 2, FinishReason::length},
        Case{9, 3, 0, FinishReason::context}, Case{0, 64, 0, FinishReason::length}}) {
    ScriptedSession session(wants({kA}), c.context_length);
    DecodeJob job = job_with("0", c.max_tokens);
    const auto outcome = run(session, job);
    EXPECT_EQ(outcome->reason, c.reason);
    EXPECT_EQ(outcome->tokens.size(), c.written);
    EXPECT_EQ(session.passes.size(), c.written);
    EXPECT_LE(job.canvas.size(), c.context_length);
    EXPECT_EQ(replay(session).reason(), c.reason);
  }
}

TEST(DecoderAutoregressive, TextHeldBackIsShownAtTheEnd) {
  ScriptedSession session(wants({kA, kAB, kByteC3}), 64);
  DecodeJob job = job_with("0", 3, {"abc", "bé"});
  EXPECT_EQ(run(session, job)->reason, FinishReason::length);
  EXPECT_EQ(replay(session).text(), "aab\xEF\xBF\xBD");
}

TEST(DecoderAutoregressive, BadLogitsAreAnErrorThatNamesThePosition) {
  for (const char* temperature : {"0", "1"}) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      ScriptedSession session(
          [bad](std::span<const TokenId> seen) {
            std::vector<float> logits(kTinyVocabularySize, 0.0F);
            if (seen.size() == kPrompt.size() + 2) logits[1] = bad;
            return logits;
          },
          64);
      DecodeJob job = job_with(temperature, 10);
      job.end_tokens.clear();
      const auto outcome = run(session, job);
      ASSERT_FALSE(outcome.has_value());
      EXPECT_EQ(outcome.error().kind, ErrorKind::failed);
      EXPECT_EQ(outcome.error().message.find("position 5: "), 0U) << outcome.error().message;
      EXPECT_NE(session.events.back().kind, EventKind::finished);
    }
  }
}

// The network wants "ab" again and again, and "c" second.
std::vector<float> wants_ab(std::span<const TokenId> seen) {
  std::vector<float> logits(kTinyVocabularySize, -1.0F);
  logits[seen.back() == kA ? kB : kA] = 3.0F;
  logits[kC] = 2.0F;
  return logits;
}

TEST(DecoderAutoregressive, ABannedPhraseIsTakenBackBeforeAnyoneReadsIt) {
  ScriptedSession session(wants_ab, 64);
  DecodeJob job = job_with("0", 6);
  job.bans.emplace(PhraseBans::create({"AB"}, tiny_vocabulary()).value());
  const auto outcome = run(session, job);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->tokens, (std::vector<TokenId>{kC, kC, kC, kC, kC, kA})) << "the last one stays alone";
  const EventReplay replayed = replay(session);
  EXPECT_EQ(replayed.text(), "ccccca");
  EXPECT_EQ(replayed.canvas().tokens(), job.canvas.tokens());
  EXPECT_EQ(std::count_if(session.events.begin(), session.events.end(),
                          [](const Event& event) { return event.kind == EventKind::deleted; }),
            10);
  EXPECT_EQ(job.chain.history().written(), 6U);
  EXPECT_EQ(session.stored, (std::vector<TokenId>{kC, kA, kB, kC, kC, kC, kC, kC}));
}

TEST(DecoderAutoregressive, WhatIsHeldForABanStillEndsInTime) {
  // "ab" is held for "abc" when the text is long enough, or ends, or a stop string appears in it.
  ScriptedSession length(wants({kA, kB, kB}), 64);
  DecodeJob job = job_with("0", 2);
  job.bans.emplace(PhraseBans::create({"abc"}, tiny_vocabulary()).value());
  EXPECT_EQ(run(length, job)->reason, FinishReason::length);
  EXPECT_EQ(replay(length).text(), "ab");

  ScriptedSession end(wants({kA, kB, kEnd}), 64);
  DecodeJob ended = job_with("0", 9);
  ended.bans.emplace(PhraseBans::create({"abc"}, tiny_vocabulary()).value());
  EXPECT_EQ(run(end, ended)->reason, FinishReason::end_of_text);
  EXPECT_EQ(replay(end).text(), "ab");

  ScriptedSession stop(wants({kC, kA, kB, kA, kA}), 64);
  DecodeJob stopped = job_with("0", 9, {"b"});
  stopped.bans.emplace(PhraseBans::create({"abac"}, tiny_vocabulary()).value());
  const auto outcome = run(stop, stopped);
  EXPECT_EQ(outcome->reason, FinishReason::stop);
  EXPECT_EQ(outcome->tokens, (std::vector<TokenId>{kC, kA, kB}));
  EXPECT_EQ(replay(stop).text(), "ca");
  EXPECT_EQ(replay(stop).canvas().tokens(), stopped.canvas.tokens());
}

TEST(DecoderAutoregressive, WritesWhatTheBansLeave) {
  ScriptedSession session(hashes, 64);
  DecodeJob job = job_with("1", 6);
  job.end_tokens.clear();
  job.bans.emplace(PhraseBans::create({"a", "b", "c", "\xC3\xA9"}, tiny_vocabulary()).value());
  const auto outcome = run(session, job);
  // The two bytes, each alone, and the control tokens give no banned text.
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(replay(session).text().find_first_of("abc"), std::string::npos);
}

TEST(DecoderAutoregressive, ScoresTheTokensOfThePrompt) {
  ScriptedSession session(hashes, 64);
  DecodeJob job = job_with("0.7", 3);
  job.end_tokens.clear();
  job.log_probabilities = LogProbabilityWish{.of = LogProbabilityWish::Of::model, .top = 2, .prompt = true};
  ASSERT_TRUE(run(session, job).has_value());
  ASSERT_EQ(session.passes.size(), 4U);
  EXPECT_EQ(session.passes[0].tokens, (std::vector<TokenId>{kC, kA}));
  EXPECT_EQ(session.passes[1].tokens, std::vector<TokenId>{kB});
  std::vector<TokenId> seen, scored;
  for (const Event& event : session.events) {
    if (event.kind != EventKind::scored && event.kind != EventKind::committed) continue;
    if (event.kind == EventKind::scored) scored.push_back(event.token);
    const auto tokens = job.canvas.tokens();
    const auto row = hashes(std::span(tokens).first(event.position));
    EXPECT_NEAR(event.log_probability, LogProbabilities::of(row)->of_token(event.token), 1e-9) << event.position;
  }
  EXPECT_EQ(scored, (std::vector<TokenId>{kA, kB}));
}

TEST(DecoderAutoregressive, ThePromptMayBeScoredAlone) {
  ScriptedSession session(hashes, 64);
  DecodeJob job = job_with("0.7", 0);
  job.log_probabilities = LogProbabilityWish{.prompt = true};
  EXPECT_EQ(run(session, job)->reason, FinishReason::length);
  ASSERT_EQ(session.passes.size(), 1U);
  EXPECT_EQ(std::count_if(session.events.begin(), session.events.end(),
                          [](const Event& event) { return event.kind == EventKind::scored; }),
            2);
}

TEST(DecoderAutoregressive, AFailedPassEndsItWithThatError) {
  ScriptedSession session(wants({kA}), 64);
  DecodeJob job = job_with("0", 10);
  auto task = start(session, job);
  session.serve();
  session.refuse({ErrorKind::no_room, "no pages"});
  ASSERT_TRUE(task.done());
  const auto outcome = task.take();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::no_room);
  EXPECT_EQ(outcome.error().message, "no pages");
}

TEST(DecoderAutoregressive, MayBeDroppedAtEveryPass) {
  for (int served = 0; served <= 4; ++served) {
    ScriptedSession session(hashes, 64);
    DecodeJob job = job_with("1", 4);
    job.end_tokens.clear();
    {
      auto task = start(session, job);
      for (int i = 0; i < served; ++i) session.serve();
      EXPECT_EQ(task.done(), served == 4);
    }
    EXPECT_EQ(session.passes.size(), static_cast<std::size_t>(std::min(served + 1, 4)));
  }
}

// Whatever the network says and however the text ends, the events alone give back canvas and text, and the canvas keeps
// its prompt and no cell open.
TEST(DecoderAutoregressive, ReplayingTheEventsRebuildsCanvasAndText) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    ScriptedSession session(hashes, 12 + seed % 20);
    DecodeJob job = job_with(seed % 3 == 0 ? "0" : "1.1", 5 + seed % 17, {"cab", "bb", "é"});
    job.seed = seed;
    if (seed % 2 == 0) job.end_tokens.clear();
    const auto outcome = run(session, job);
    ASSERT_TRUE(outcome.has_value());
    const EventReplay replayed = replay(session);
    EXPECT_EQ(replayed.reason(), outcome->reason);
    EXPECT_NE(replayed.reason(), FinishReason::none);
    EXPECT_EQ(session.events.back().kind, EventKind::finished);
    ASSERT_EQ(replayed.canvas().size(), job.canvas.size());
    for (std::size_t i = 0; i < job.canvas.size(); ++i) {
      EXPECT_EQ(job.canvas.at(i).id, replayed.canvas().at(i).id);
      EXPECT_EQ(job.canvas.at(i).token, replayed.canvas().at(i).token);
      EXPECT_EQ(job.canvas.at(i).status, replayed.canvas().at(i).status);
      EXPECT_EQ(job.canvas.at(i).status, i < kPrompt.size() ? CellStatus::given : CellStatus::committed);
    }
    std::string text = detokenize(tiny_vocabulary(), outcome->tokens);
    if (outcome->reason == FinishReason::stop) {
      EXPECT_EQ(text.find(replayed.text()), 0U);
      text = replayed.text();
    }
    EXPECT_EQ(replayed.text(), text);
    for (const char* stop : {"cab", "bb", "é"}) EXPECT_EQ(replayed.text().find(stop), std::string::npos);
  }
}

}  // namespace
}  // namespace plm
