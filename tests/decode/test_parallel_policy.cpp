#include "decode/parallel_policy.h"

#include <gtest/gtest.h>

#include <set>

namespace plm {
namespace {

Result<ParallelPolicy> policy(const std::vector<std::pair<std::string, std::string>>& values,
                              const DiffusionTraits& traits = {.mask_token = 3}) {
  Settings settings(parallel_parameters());
  for (const auto& [name, value] : values) EXPECT_TRUE(settings.set_text(name, value).has_value()) << name;
  return ParallelPolicy::create(settings, traits);
}

TEST(ParallelPolicy, ReadsWhatARequestSays) {
  const ParallelPolicy read = policy({{"schedule", "count"},
                                      {"tokens_per_pass", "2"},
                                      {"confidence", "margin"},
                                      {"page_temperature", "0.5"},
                                      {"page_top_k", "4"},
                                      {"page_guidance", "1.5"},
                                      {"confidence_from", "tempered"},
                                      {"block_length", "16"}})
                                  .value();
  EXPECT_EQ(read.rule.confidence->head.name, "margin");
  EXPECT_EQ(read.rule.temperature, 0.5);
  EXPECT_EQ(read.rule.top_k, 4U);
  EXPECT_EQ(read.rule.guidance, 1.5);
  EXPECT_TRUE(read.rule.score_tempered);
  EXPECT_TRUE(read.draws);
  EXPECT_EQ(read.block_length, 16U);
  EXPECT_EQ(read.rule.suppressed, std::vector<TokenId>{3});
  const OpenPosition open[] = {
      {.position = 0, .score = 0.1}, {.position = 1, .score = 0.3}, {.position = 2, .score = 0.2}};
  EXPECT_EQ(read.schedule->choose({open, 0, 3, 3, 3}), (std::vector<std::size_t>{1, 2}));
}

TEST(ParallelPolicy, BlocksAreThoseOfTheModelUnlessSaidOtherwise) {
  const DiffusionTraits traits{.attention = DiffusionAttention::block_causal, .block_length = 4, .mask_token = 3};
  EXPECT_EQ(policy({}, traits)->block_length, 4U);
  EXPECT_EQ(policy({{"block_length", "2"}}, traits)->block_length, 2U);
  EXPECT_EQ(policy({})->block_length, 0U);
  EXPECT_FALSE(policy({{"block_length", "0"}}, traits).has_value());
}

TEST(ParallelPolicy, SaysWhatIsPossibleInstead) {
  const auto message = [](const Result<ParallelPolicy>& result) {
    EXPECT_FALSE(result.has_value());
    return result.has_value() ? std::string() : result.error().message;
  };
  EXPECT_NE(message(policy({{"schedule", "sideways"}})).find("threshold"), std::string::npos);
  EXPECT_NE(message(policy({{"confidence", "hope"}})).find("margin"), std::string::npos);
  const DiffusionTraits blocks{.attention = DiffusionAttention::causal_context, .block_length = 8, .mask_token = 3};
  EXPECT_NE(message(policy({{"page_guidance", "1"}}, blocks)).find("page_guidance"), std::string::npos);
}

TEST(ParallelPolicy, EveryParameterHasOneName) {
  std::set<std::string_view> names;
  for (const Parameter& parameter : parallel_parameters())
    EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
}

}  // namespace
}  // namespace plm
