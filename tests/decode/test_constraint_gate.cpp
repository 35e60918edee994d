// The gate between rows and samplers, and the autoregressive decoder with it, against a scripted network.
#include "decode/constraint_gate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "constraint/constraint_matcher.h"
#include "constraint/constraint_source.h"
#include "decode/scripted_session.h"
#include "decode/tiny_vocabulary.h"

namespace plm {
namespace {

const std::vector<TokenId> kPrompt{kC};

std::shared_ptr<TokenConstraint> constraint_of(std::string_view expression) {
  std::vector<std::string> warnings;
  const ConstraintSource source{.language = ConstraintLanguage::regex, .text = std::string(expression), .choices = {}};
  auto grammar = grammar_of(source, {}, warnings);
  EXPECT_TRUE(grammar.has_value());
  std::vector<std::string> texts(kTinyVocabularySize);
  for (TokenId id = 0; id < kTinyVocabularySize; ++id) {
    tiny_vocabulary().append_bytes(id, texts[static_cast<std::size_t>(id)]);
  }
  const auto trie = std::make_shared<const TokenTrie>(texts, std::vector<TokenId>{kEnd, kTurn});
  auto constraint = TokenConstraint::create(std::move(*grammar), trie);
  EXPECT_TRUE(constraint.has_value()) << (constraint ? "" : constraint.error().message);
  return *constraint;
}

std::shared_ptr<ConstraintMatcher> matcher_of(std::string_view expression, bool closes = true) {
  return std::make_shared<ConstraintMatcher>(constraint_of(expression), closes);
}

DecodeJob job_with(std::shared_ptr<ConstraintMatcher> matcher, std::size_t max_tokens, const char* temperature = "0",
                   std::vector<std::string> stops = {}) {
  Settings settings(sampling_parameters());
  EXPECT_TRUE(settings.set_text("temperature", temperature).has_value());
  DecodeJob job{.chain = Chain::create(settings).value(),
                .text = TextStream(tiny_vocabulary(), StopMatcher::create(std::move(stops)).value()),
                .max_tokens = max_tokens,
                .end_tokens = {kEnd, kTurn},
                .seed = 5};
  job.constraint.matcher = std::move(matcher);
  for (const TokenId token : kPrompt) job.canvas.append_given(token);
  return job;
}

// Logits by token: the same for every row.
ScriptedSession::Network prefers(std::vector<float> logits) {
  return [logits](std::span<const TokenId>) { return logits; };
}

DecodeOutcome run(ScriptedSession& session, DecodeJob& job) {
  Task<Result<DecodeOutcome>> task = find_decoder("autoregressive")->run(session, job);
  task.start();
  session.serve_all();
  EXPECT_TRUE(task.done());
  auto outcome = task.take();
  EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().message);
  return outcome.value_or(DecodeOutcome{});
}

std::string text_of(const ScriptedSession& session) {
  std::string text;
  for (const Event& event : session.events) text += event.text;
  return text;
}

//                                 a     b     c     ab    bc    C3    A9    end   turn
const std::vector<float> kLikesC{1.0F, 0.5F, 9.0F, 0.7F, 0.2F, 0.1F, 0.0F, 3.0F, 0.0F};

TEST(ConstraintGate, OnlyWhatFitsIsDrawn) {
  ScriptedSession session(prefers(kLikesC), 64);
  DecodeJob job = job_with(matcher_of("[ab]{2,5}"), 20);
  const DecodeOutcome outcome = run(session, job);
  EXPECT_EQ(outcome.tokens, (std::vector<TokenId>{kA, kA}));  // then the end, which it likes better
  EXPECT_EQ(outcome.reason, FinishReason::end_of_text);
}

TEST(ConstraintGate, TheTextEndsWhereNothingMayFollow) {
  ScriptedSession session(prefers({1, 0, 0, 0, 0, 0, 0, -5, -5}), 64);
  DecodeJob job = job_with(matcher_of("[ab]{3}"), 20);
  EXPECT_EQ(run(session, job).reason, FinishReason::end_of_text);
  EXPECT_EQ(session.passes.size(), 3U);  // none for the end
}

TEST(ConstraintGate, SettledTokensNeedNoPass) {
  ScriptedSession session(prefers(kLikesC), 64);
  DecodeJob job = job_with(matcher_of("(a|b)cccc(a|b)"), 20);
  const DecodeOutcome outcome = run(session, job);
  EXPECT_EQ(outcome.tokens, (std::vector<TokenId>{kA, kC, kC, kC, kC, kA}));
  ASSERT_EQ(session.passes.size(), 2U);
  EXPECT_EQ(session.passes[1].tokens, (std::vector<TokenId>{kA, kC, kC, kC, kC}));
  EXPECT_EQ(text_of(session), "acccca");

  ScriptedSession watched(prefers(kLikesC), 64);  // the log-probabilities of all are the network's
  DecodeJob scored = job_with(matcher_of("(a|b)cccc(a|b)"), 20);
  scored.log_probabilities = LogProbabilityWish{};
  EXPECT_EQ(run(watched, scored).tokens, outcome.tokens);
  EXPECT_EQ(watched.passes.size(), 6U);
}

TEST(ConstraintGate, SpelledTextGoesAhead) {
  ScriptedSession session(prefers(kLikesC), 64);
  DecodeJob job = job_with(matcher_of("abca?"), 20);
  job.constraint.spell = [](std::string_view) { return std::vector<TokenId>{kAB, kC}; };
  const DecodeOutcome outcome = run(session, job);
  EXPECT_EQ(outcome.tokens, (std::vector<TokenId>{kAB, kC}));
  EXPECT_EQ(session.passes.size(), 1U);
}

TEST(ConstraintGate, TheLimitClosesTheText) {
  const std::vector<float> hates_c{5, 4, -9, 4, -9, 0, 0, -9, -9};
  for (std::size_t limit = 1; limit < 8; ++limit) {
    ScriptedSession session(prefers(hates_c), 64);
    DecodeJob job = job_with(matcher_of("(a|b)*c"), limit);
    EXPECT_EQ(run(session, job).tokens.size(), limit);
    EXPECT_TRUE(text_of(session).ends_with('c'));
  }
  ScriptedSession session(prefers(hates_c), 64);
  DecodeJob job = job_with(matcher_of("(a|b)*c", false), 4);
  EXPECT_EQ(run(session, job).reason, FinishReason::length);
  EXPECT_EQ(text_of(session), "aaaa");
}

TEST(ConstraintGate, AStopStringEndsOnlyACompleteText) {
  ScriptedSession session(prefers({5, 0, 4, 0, 0, 0, 0, 0, 0}), 64);
  DecodeJob job = job_with(matcher_of("a{4}(cb)?"), 20, "0", {"aa"});
  (void)run(session, job);
  EXPECT_EQ(text_of(session), "aaaacb");
  ScriptedSession free(prefers({5, 0, 4, 0, 0, 0, 0, 0, 0}), 64);
  DecodeJob other = job_with(matcher_of("[abc]*"), 20, "0", {"aa"});
  EXPECT_EQ(run(free, other).reason, FinishReason::stop);
  EXPECT_EQ(text_of(free), "");
}

// The distribution is the model's own among what fits; drawing freely first gives the same for a single sampler-free
// draw, and another number where the first did not fit.
TEST(ConstraintGate, TheDistributionIsTheModelsConditioned) {
  const std::vector<float> logits{0, 1, 2, 0.5F, -1, 0, 0, -1, -1};
  const auto constraint = constraint_of("[ab]");
  for (const bool resamples : {false, true}) {
    int b = 0;
    constexpr int kDraws = 3000;
    for (int seed = 0; seed < kDraws; ++seed) {
      ScriptedSession session(prefers(logits), 64);
      DecodeJob job = job_with(std::make_shared<ConstraintMatcher>(constraint), 20, "1");
      job.seed = static_cast<std::uint64_t>(seed);
      job.constraint.resamples = resamples;
      const auto outcome = run(session, job);
      ASSERT_EQ(outcome.tokens.size(), 1U);
      b += outcome.tokens[0] == kB ? 1 : 0;
    }
    EXPECT_NEAR(b / double{kDraws}, 0.7311, 0.03);  // e / (1 + e)
  }
}

TEST(ConstraintGate, BannedPhrasesAreTakenBackWithinTheConstraint) {
  ScriptedSession session(prefers({5, 4, 3, -9, -9, 0, 0, -9, -9}), 64);
  DecodeJob job = job_with(matcher_of("[abc]{4}"), 20);
  job.bans.emplace(*PhraseBans::create({"aa"}, tiny_vocabulary()));
  (void)run(session, job);
  EXPECT_EQ(text_of(session), "bbba");  // the token in which a phrase begins goes
}

}  // namespace
}  // namespace plm
