#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

// The logits by id after `written` was accepted behind `prompt`.
std::vector<float> penalised(Values values, const std::vector<std::int32_t>& prompt,
                             const std::vector<std::int32_t>& written, const std::vector<float>& logits) {
  values.emplace_back("samplers", "penalties");
  Chain chain = chain_of(values);
  chain.begin(prompt);
  for (const std::int32_t id : written) chain.accept(id);
  Candidates workspace;
  EXPECT_TRUE(chain.select(logits, {}, workspace));
  return {workspace.logits().begin(), workspace.logits().end()};
}

TEST(Penalties, AgreesWithTheGoldenCases) {
  expect_golden("penalties.json", 27);
  expect_golden_steps("penalties.json", 1);
}

TEST(Penalties, WhatCountsThePromptIsAChoice) {
  const Values penalties = {{"repeat_penalty", "2"}, {"presence_penalty", "1"}, {"frequency_penalty", "0.5"}};
  const auto counted = [&](const char* which) {
    Values values = penalties;
    values.emplace_back("penalty_prompt", which);
    return penalised(values, {0, 0, 1}, {1, 2}, {8, 8, 8, 8});
  };
  EXPECT_EQ(counted("all"), (std::vector<float>{2, 2, 2.5, 8}));
  EXPECT_EQ(counted("repeat"), (std::vector<float>{4, 2.5, 2.5, 8}));
  EXPECT_EQ(counted("none"), (std::vector<float>{8, 2.5, 2.5, 8}));
}

TEST(Penalties, TheOlderHalfOfTheWindowMayCountLess) {
  const Values values = {{"repeat_penalty", "2"}, {"repeat_slope", "0.5"}, {"repeat_last_n", "4"}};
  // The window is 1 2 | 3 1: token 2 is in its older half only, token 0 is out of it.
  EXPECT_EQ(penalised(values, {0}, {1, 2, 3, 1}, {6, 6, 6, 6}), (std::vector<float>{6, 3, 4, 3}));
}

TEST(Penalties, MinusOneLooksAtEverything) {
  const std::vector<std::int32_t> prompt(5000, 1);
  const Values values = {{"frequency_penalty", "0.001"}, {"repeat_last_n", "-1"}};
  EXPECT_FLOAT_EQ(penalised(values, prompt, {0}, {0, 0})[1], -5);
}

TEST(Penalties, NeitherMasksNorOverflows) {
  const auto left = penalised({{"repeat_penalty", "0.01"}}, {}, {0, 1}, {3e38F, -3e38F, 0});
  EXPECT_EQ(left[0], std::numeric_limits<float>::max());
  const auto lower = penalised({{"repeat_penalty", "100"}}, {}, {0, 1}, {3e38F, -3e38F, 0});
  EXPECT_EQ(lower[1], std::numeric_limits<float>::lowest());
}

}  // namespace
}  // namespace plm
