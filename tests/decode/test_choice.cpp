#include "decode/choice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "decode/tiny_vocabulary.h"

namespace plm {
namespace {

DecodeJob job_of(LogProbabilityWish wish, std::vector<std::pair<std::string, std::string>> values = {}) {
  Settings settings(sampling_parameters());
  for (const auto& [name, value] : values) EXPECT_TRUE(settings.set_text(name, value).has_value());
  DecodeJob job{
      .chain = Chain::create(settings).value(), .text = TextStream(tiny_vocabulary()), .log_probabilities = wish};
  for (const TokenId token : {kA, kB, kC}) job.canvas.append_given(token);
  return job;
}

const std::vector<float> kRow = {0, 1, 2, 3, 0, 0, 0, 0, 0};

double log_softmax(const std::vector<float>& row, std::size_t id) {
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit));
  return static_cast<double>(row[id]) - std::log(sum);
}

TEST(Choice, TheModelsLogProbabilitiesIgnoreTheChain) {
  DecodeJob job = job_of({.of = LogProbabilityWish::Of::model, .top = 2}, {{"top_k", "1"}});
  const Choice choice = choose(job, kRow, 3).value();
  EXPECT_EQ(choice.selection.id, 3);
  EXPECT_NEAR(choice.log_probability, log_softmax(kRow, 3), 1e-6);
  ASSERT_EQ(choice.top.size(), 2U);
  EXPECT_EQ(choice.top[1].id, 2);
  EXPECT_NEAR(choice.top[1].log_probability, log_softmax(kRow, 2), 1e-6);
}

TEST(Choice, TheChainsLogProbabilitiesAreOfWhatIsLeft) {
  DecodeJob job = job_of({.of = LogProbabilityWish::Of::chain, .top = 5},
                         {{"samplers", "top_k;temperature"}, {"top_k", "2"}, {"temperature", "0.5"}});
  const Choice choice = choose(job, kRow, 3).value();
  ASSERT_EQ(choice.top.size(), 2U);
  EXPECT_NEAR(choice.top[0].log_probability, -std::log(1 + std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(choice.top[1].log_probability, -2 - std::log(1 + std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(choice.log_probability, choice.selection.log_probability, 1e-9);
}

TEST(Choice, AGivenTokenThatTheChainRemovedHasNone) {
  const DecodeJob job = job_of({.of = LogProbabilityWish::Of::chain, .top = 1}, {{"top_k", "1"}});
  EXPECT_EQ(score_given(job, kRow, 1, kB)->log_probability, -HUGE_VAL);
  EXPECT_NEAR(score_given(job, kRow, 1, 3)->log_probability, 0, 1e-9);
  const DecodeJob raw = job_of({});
  EXPECT_NEAR(score_given(raw, kRow, 1, kB)->log_probability, log_softmax(kRow, kB), 1e-6);
}

// The chain looks back on the tokens before the given one, and on no others.
TEST(Choice, AGivenTokenIsScoredBehindThoseBeforeIt) {
  const DecodeJob job =
      job_of({.of = LogProbabilityWish::Of::chain}, {{"samplers", "penalties"}, {"presence_penalty", "1"}});
  std::vector<float> row = kRow;
  row[kA] -= 1;
  EXPECT_NEAR(score_given(job, kRow, 1, kB)->log_probability, log_softmax(row, kB), 1e-6);
  row[kB] -= 1;
  EXPECT_NEAR(score_given(job, kRow, 2, kC)->log_probability, log_softmax(row, kC), 1e-6);
}

TEST(Choice, OnlyAGreedyChainOfWhichNothingIsAskedNeedsNoLogits) {
  DecodeJob job = job_of({}, {{"temperature", "0"}});
  EXPECT_TRUE(needs_logits(job));
  job.log_probabilities.reset();
  EXPECT_FALSE(needs_logits(job));
  job.trace_top = 0;
  EXPECT_TRUE(needs_logits(job));
}

TEST(Choice, ATraceIsMadeOnlyWhenAskedFor) {
  DecodeJob job = job_of({});
  EXPECT_FALSE(choose(job, kRow, 3)->trace.has_value());
  job.trace_top = 4;
  const auto choice = choose(job, kRow, 3);
  ASSERT_TRUE(choice->trace.has_value());
  EXPECT_EQ(choice->trace->top.size(), 4U);
  EXPECT_EQ(choice->trace->id, choice->selection.id);
}

}  // namespace
}  // namespace plm
