#include <gtest/gtest.h>

#include <algorithm>

#include "sampling/golden_cases.h"
#include "sampling/word_list.h"

namespace plm {
namespace {

// With what llama.cpp does to a token that is named twice when the chain has reordered its array (004).
TEST(LogitBias, AgreesWithTheGoldenCases) { expect_golden("logit_bias.json", 8); }

TEST(LogitBias, EntriesOfOneTokenAddUpWhereverTheSamplerStands) {
  const std::vector<float> logits = {0, 1, 2, 3};
  for (const auto& [profile, expected] : {std::pair{"plm", 3.5F}, {"llamacpp", 3.0F}}) {
    Candidates workspace;
    ASSERT_TRUE(
        chain_of(
            {{"profile", profile}, {"samplers", "top_k;logit_bias"}, {"top_k", "2"}, {"logit_bias", "[[2,1],[2,0.5]]"}})
            .select(logits, {}, workspace));
    const auto left = in_canonical_order(workspace);
    ASSERT_EQ(left.size(), 2U);
    EXPECT_EQ(std::max_element(left.begin(), left.end(), [](auto a, auto b) { return a.id > b.id; })->logit, expected);
  }
}

std::vector<Candidate> biased(const std::string& bias, const std::vector<float>& logits) {
  Candidates workspace;
  EXPECT_TRUE(chain_of({{"samplers", "top_k;logit_bias"}, {"logit_bias", bias}}).select(logits, {}, workspace));
  return in_canonical_order(workspace);
}

TEST(LogitBias, EveryNotationMeansTheSame) {
  for (const char* bias : {"2=1.5,0=-inf", "2+1.5, 0-inf", "2=1,2=0.5,0=false", "[[2,1.5],[0,false],[1,true],[99,3]]",
                           R"({"2": 1.5, "0": "-inf"})", "0=false,0=5,2=1.5"}) {
    const auto left = biased(bias, {9, 1, 0});
    ASSERT_EQ(left.size(), 2U) << bias;
    EXPECT_EQ(left[0].id, 2) << bias;
    EXPECT_EQ(left[0].logit, 1.5F) << bias;
    EXPECT_EQ(left[1].logit, 1.0F) << bias;
  }
}

TEST(LogitBias, ATextStandsForEachOfItsTokens) {
  const WordList texts({"a", "b", "ab", "c"});
  for (const char* bias : {R"([["abc",2]])", R"({"abc":2})", R"([[2,2],["c",1],["3",1]])"}) {
    Settings settings(sampling_parameters());
    ASSERT_TRUE(settings.set_text("samplers", ""));
    ASSERT_TRUE(settings.set_text("logit_bias", bias));
    Chain chain = Chain::create(settings, texts).value();
    const std::vector<float> logits(4, 0.0F);
    Candidates workspace;
    ASSERT_TRUE(chain.select(logits, {}, workspace));
    EXPECT_EQ(std::vector<float>(workspace.logits().begin(), workspace.logits().end()),
              (std::vector<float>{0, 0, 2, 2}))
        << bias;
  }
  Settings unknown(sampling_parameters());
  ASSERT_TRUE(unknown.set_text("logit_bias", R"([["zzz",2]])"));
  EXPECT_FALSE(Chain::create(unknown, texts)) << "a text that the vocabulary cannot spell";
}

TEST(LogitBias, RefusesWhatIsNoBias) {
  for (const char* bias : {"x", "1", "1=", "1=nan", "1=inf", "=3", "[[1]]", "[1,2]", "[[1,null]]", "[[1,1e999]]",
                           "{\"a\":1}", "[[1.5,2]]", "[", "1=2;3=4"}) {
    Settings settings(sampling_parameters());
    ASSERT_TRUE(settings.set_text("logit_bias", bias));
    const auto chain = Chain::create(settings);
    ASSERT_FALSE(chain) << bias;
    EXPECT_EQ(chain.error().kind, ErrorKind::usage) << bias;
  }
}

TEST(LogitBias, ForbiddingEverythingIsATypedErrorThatNamesTheSampler) {
  Candidates workspace;
  const auto selection =
      chain_of({{"logit_bias", "0=false,1=false"}}).select(std::vector<float>{1, 2}, {.cell = 3}, workspace);
  ASSERT_FALSE(selection);
  EXPECT_EQ(selection.error().kind, ErrorKind::unsatisfiable);
  EXPECT_TRUE(selection.error().message.starts_with("position 3: sampler logit_bias: no legal token"));
}

TEST(LogitBias, BeyondFloatStaysFinite) {
  const auto left = biased("0=1e300,1=-1e300", {1, 2, 3});
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0].id, 0);
  EXPECT_EQ(left[2].logit, std::numeric_limits<float>::lowest());
}

}  // namespace
}  // namespace plm
