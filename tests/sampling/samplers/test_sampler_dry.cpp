#include <gtest/gtest.h>

#include "sampling/golden_cases.h"
#include "sampling/word_list.h"

namespace plm {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

TEST(Dry, AgreesWithTheGoldenCases) {
  expect_golden("dry.json", 39);
  expect_golden_steps("dry.json", 1);
}

// Which tokens lose something, for a chain that breaks sequences at texts.
std::vector<std::int32_t> penalised(const std::string& breakers, const std::vector<std::int32_t>& history) {
  // 0 1 2 are words; 3 holds a breaker, 4 ends with the beginning of one whose rest is 5.
  const WordList texts({"a", "b", "c", " x\n", "<", "br>", "d"});
  Settings settings(sampling_parameters());
  EXPECT_TRUE(settings.set_text("samplers", "dry"));
  EXPECT_TRUE(settings.set_text("dry_multiplier", "1"));
  EXPECT_TRUE(settings.set_text("dry_sequence_breakers", breakers));
  Chain chain = Chain::create(settings, texts).value();
  chain.begin(history);
  const std::vector<float> logits(7, 0.0F);
  Candidates workspace;
  EXPECT_TRUE(chain.select(logits, {}, workspace));
  std::vector<std::int32_t> lowered;
  for (std::size_t i = 0; i < workspace.size(); ++i) {
    if (workspace.logits()[i] < 0) lowered.push_back(workspace.id(i));
  }
  return lowered;
}

TEST(Dry, FindsBreakersInTheTextsOfTokens) {
  using Ids = std::vector<std::int32_t>;
  const Ids repeated = {0, 1, 2, 6, 0, 1};
  EXPECT_EQ(penalised("none", repeated), Ids{2});
  EXPECT_EQ(penalised(R"(["b"])", repeated), Ids{});             // the last token is a breaker
  EXPECT_EQ(penalised(R"(["\n"])", {0, 1, 3, 6, 0, 1}), Ids{});  // the continuation is one
  EXPECT_EQ(penalised("none", {0, 1, 3, 6, 0, 1}), Ids{3});
  const Ids across = {0, 4, 5, 2, 6, 0, 4, 5};
  EXPECT_EQ(penalised("none", across), Ids{2});
  EXPECT_EQ(penalised("<br>", across), Ids{});  // two tokens make it up
  EXPECT_EQ(penalised("[[4,5]]", across), Ids{});
  EXPECT_EQ(penalised("[[5,4]]", across), Ids{2});
}

TEST(Dry, RefusesWhatAreNoBreakers) {
  std::string many = "[0";
  for (int i = 0; i < 2000; ++i) many += ",0";
  for (const std::string& breakers : {many + "]", std::string("[1]"), std::string("[[]]"), std::string("[[-1]]"),
                                      std::string("[\"\"]"), std::string("[{}]"), std::string("[\"a\"")}) {
    Settings settings(sampling_parameters());
    ASSERT_TRUE(settings.set_text("dry_sequence_breakers", breakers));
    ASSERT_TRUE(settings.set_text("dry_multiplier", "1"));
    const auto chain = Chain::create(settings);
    ASSERT_FALSE(chain) << breakers.substr(0, 20);
    EXPECT_EQ(chain.error().kind, ErrorKind::usage);
  }
}

TEST(Dry, ALongRepetitiveHistoryTakesLinearTime) {
  Chain chain = chain_of({{"samplers", "dry"}, {"dry_multiplier", "1"}, {"dry_penalty_last_n", "-1"}});
  chain.begin(std::vector<std::int32_t>(1'000'000, 1));
  Candidates workspace;
  const auto selection = chain.select(std::vector<float>{0, 1}, {}, workspace);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->id, 0);
}

}  // namespace
}  // namespace plm
