// Pages that find their own length, on made-up networks that know how long the text is. Also covers
// src/decode/page_growth.cpp.
#include "decode/page_length.h"

#include <gtest/gtest.h>

#include "decode/event_replay.h"
#include "page_session.h"
#include "tiny_vocabulary.h"

namespace plm {
namespace {

constexpr TokenId kMask = kTurn, kExpand = 9, kDelete = 10;
constexpr std::size_t kLogits = 11;

std::vector<float> sure_of(TokenId token, float lead = 20) {
  std::vector<float> logits(kLogits, 0.0F);
  logits[static_cast<std::size_t>(token)] = lead;
  return logits;
}

struct Job {
  std::size_t max_tokens = 60;
  std::vector<Hole> holes = {};
  std::vector<TokenId> given = {kA, kB};
  std::vector<std::pair<std::string, std::string>> parameters = {};
  DiffusionTraits traits = {.mask_token = kMask};
  const char* decoder = "diffusion";
};

struct Outcome {
  Result<DecodeOutcome> result;
  Canvas canvas;
  std::size_t passes;
  std::size_t most_cells;  // at any moment
};

Outcome run(const Job& asked, PageSession::Network network) {
  Settings settings(parallel_parameters());
  EXPECT_TRUE(settings.set_text("length", "auto").has_value());
  for (const auto& [name, value] : asked.parameters) EXPECT_TRUE(settings.set_text(name, value).has_value()) << name;
  const ParallelPolicy policy = ParallelPolicy::create(settings, asked.traits).value();
  DecodeJob job{.chain = Chain::create(Settings(sampling_parameters())).value(),
                .text = TextStream(tiny_vocabulary()),
                .max_tokens = asked.max_tokens,
                .holes = asked.holes,
                .end_tokens = {kEnd},
                .parallel = &policy};
  for (const TokenId token : asked.given) job.canvas.append_given(token);
  PageSession session(std::move(network), 200);
  auto task = find_decoder(asked.decoder)->run(session, job);
  task.start();
  EXPECT_TRUE(session.serve(2000));
  EventReplay replay(asked.given);
  std::size_t most = 0;
  for (const Event& event : session.events) {
    replay.apply(event);
    most = std::max(most, replay.canvas().size() - asked.given.size());
  }
  EXPECT_EQ(replay.canvas().tokens(), job.canvas.tokens());
  return {task.take(), job.canvas, session.passes, most};
}

// A text of `length` tokens behind two given ones, then ends.
PageSession::Network text_of(std::size_t length) {
  return [length](std::span<const TokenId>, std::size_t position) {
    return sure_of(position - 2 < length ? (position % 2 == 0 ? kA : kC) : kEnd);
  };
}

void expect_text(const Outcome& outcome, std::size_t length) {
  ASSERT_TRUE(outcome.result.has_value()) << outcome.result.error().message;
  EXPECT_EQ(outcome.result->reason, FinishReason::end_of_text);
  ASSERT_EQ(outcome.result->tokens.size(), length);
  for (std::size_t i = 0; i < length; ++i) EXPECT_EQ(outcome.result->tokens[i], i % 2 == 0 ? kA : kC);
}

TEST(PageLength, ExpandsUntilTheLastPositionsSayThatTheTextEnds) {
  for (const std::size_t length : {1U, 3U, 4U, 17U, 40U}) {
    for (const char* decoder : {"diffusion", "wino", "remask"}) {
      const Outcome outcome =
          run({.parameters = {{"length_start", "4"}, {"length_step", "3"}, {"length_window", "4"}}, .decoder = decoder},
              text_of(length));
      expect_text(outcome, length);
      // Half of the last four positions are ends: two behind the text, and less than a step besides.
      EXPECT_LE(outcome.most_cells, std::max<std::size_t>(4, length + 2 + 3)) << decoder << " " << length;
    }
  }
}

TEST(PageLength, NeverExpandsBeyondWhatWasAskedFor) {
  const Outcome outcome = run({.max_tokens = 10, .parameters = {{"length_start", "4"}}}, text_of(100));
  ASSERT_TRUE(outcome.result.has_value());
  EXPECT_EQ(outcome.result->reason, FinishReason::length);
  EXPECT_EQ(outcome.result->tokens.size(), 10U);
  EXPECT_EQ(outcome.most_cells, 10U);
}

TEST(PageLength, ADoubtfulPositionIsGivenRoomWhileTheEndIsNotCertain) {
  // The third position is in doubt until there are twelve cells.
  const auto network = [](std::span<const TokenId> tokens, std::size_t position) {
    if (position == 4 && tokens.size() < 14) return std::vector<float>(kLogits, 0.0F);
    return position + 1 < tokens.size() ? sure_of(kA) : sure_of(kEnd, 3.5);
  };
  const Job job{.parameters = {{"length_start", "6"},
                               {"length_step", "2"},
                               {"length_window", "1"},
                               {"length_doubt", "0.2"},
                               {"schedule", "threshold"}}};
  const Outcome outcome = run(job, network);
  ASSERT_TRUE(outcome.result.has_value());
  EXPECT_EQ(outcome.most_cells, 12U);
  Job certain = job;
  certain.parameters.emplace_back("length_end_later", "0.7");
  EXPECT_EQ(run(certain, network).most_cells, 6U) << "the end is at 0.77";
}

TEST(PageLength, PredictsTheEndInOnePass) {
  const Outcome outcome = run({.parameters = {{"length_rule", "predict"}}}, text_of(17));
  expect_text(outcome, 17);
  EXPECT_EQ(outcome.canvas.size(), 2U + 18U) << "the text and its end";
  EXPECT_EQ(run({.max_tokens = 10, .parameters = {{"length_rule", "predict"}}}, text_of(17)).canvas.size(), 12U);
}

TEST(PageLength, GrowsByBlocksUntilTheTextEndsInOne) {
  for (const std::size_t length : {1U, 7U, 8U, 9U, 31U}) {
    const Outcome outcome = run({.parameters = {{"length_rule", "grow"}, {"block_length", "8"}}}, text_of(length));
    expect_text(outcome, length);
    EXPECT_EQ(outcome.most_cells, (length / 8 + 1) * 8);
  }
  const Outcome cut =
      run({.max_tokens = 10, .parameters = {{"length_rule", "grow"}, {"block_length", "8"}}}, text_of(100));
  EXPECT_EQ(cut.result->tokens.size(), 10U);
}

TEST(PageLength, TokensOfTheModelExpandAndDelete) {
  const DiffusionTraits traits{.mask_token = kMask, .expand_token = kExpand, .delete_token = kDelete};
  // Between a, b and c there shall be `wanted` cells.
  const auto network = [](std::size_t wanted) {
    return [wanted](std::span<const TokenId> tokens, std::size_t) {
      const std::size_t cells = tokens.size() - 3;
      return sure_of(cells < wanted ? kExpand : cells > wanted ? kDelete : kBC);
    };
  };
  for (const std::size_t wanted : {1U, 2U, 3U, 6U, 7U}) {
    const Outcome outcome = run({.holes = {{2, 8}},
                                 .given = {kA, kB, kC},
                                 .parameters = {{"length_start", "3"}, {"tokens_per_pass", "1"}, {"schedule", "count"}},
                                 .traits = traits},
                                network(wanted));
    ASSERT_TRUE(outcome.result.has_value());
    ASSERT_EQ(outcome.result->holes.size(), 1U);
    EXPECT_EQ(outcome.result->holes[0], std::vector<TokenId>(wanted, kBC));
    EXPECT_EQ(outcome.canvas.at(outcome.canvas.size() - 1).token, kC);
  }
  const Outcome full = run({.holes = {{2, 8}}, .given = {kA, kB, kC}, .traits = traits}, network(100));
  EXPECT_EQ(full.result->holes[0].size(), 8U) << "where there is no room the token is not proposed";
}

TEST(PageLength, WhatCannotBeSaysWhatCan) {
  const auto message = [](const Job& job) { return run(job, text_of(3)).result.error().message; };
  EXPECT_NE(message({.holes = {{1, 4}}}).find("hole:12"), std::string::npos);
  EXPECT_NE(message({.parameters = {{"length_rule", "tokens"}}}).find("expand_token_id"), std::string::npos);
  EXPECT_NE(
      message({.parameters = {{"length_rule", "expand"}},
               .traits = {.attention = DiffusionAttention::causal_context, .block_length = 4, .mask_token = kMask}})
          .find("grow"),
      std::string::npos);
  Settings settings(parallel_parameters());
  for (const char* length : {"0", "-1", "1.5", "many", "", "99999999999999999999"}) {
    ASSERT_TRUE(settings.set_text("length", length).has_value());
    EXPECT_FALSE(page_length(settings).has_value()) << length;
  }
  ASSERT_TRUE(settings.set_text("length", "12").has_value());
  EXPECT_EQ(page_length(settings).value(), 12U);
}

}  // namespace
}  // namespace plm
