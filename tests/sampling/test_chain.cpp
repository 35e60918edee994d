#include "sampling/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/json.h"
#include "sampling/golden_cases.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Chain, SeveralSamplersAgreeWithTheGoldenCases) { expect_golden("chains.json", 49); }

// llama.cpp's seeded draws: its numbers, spent as it spends them, over its array as its samplers leave it.
TEST(Chain, DrawsAsTheGoldenCases) {
  int compared = 0;
  for (const Json& test_case : golden_cases("dist.json")) {
    if (!test_case.contains("array_order")) continue;
    SCOPED_TRACE(test_case["id"].get<std::string>());
    Chain chain = golden_chain(test_case);
    for (std::size_t i = 0; i < test_case["selected"].size(); ++i) {
      const Selection selection = select_golden(chain, test_case);
      expect_choice(selection, test_case["selected"][i], test_case);
      if (i < 4) {
        EXPECT_EQ(selection.random, test_case["u_first4"][i].get<double>()) << i;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 18 * 32);
}

TEST(Chain, CountsOfTheGoldenDraws) {
  int compared = 0;
  for (const Json& test_case : golden_cases("dist.json")) {
    if (!test_case.contains("counts_by_id")) continue;
    Chain chain = golden_chain(test_case);
    std::vector<std::size_t> counts(test_case["counts_by_id"].size());
    for (std::size_t i = 0; i < test_case["draws"].get<std::size_t>(); ++i) {
      ++counts[static_cast<std::size_t>(select_golden(chain, test_case).id)];
    }
    EXPECT_EQ(counts, test_case["counts_by_id"].get<std::vector<std::size_t>>());
    ++compared;
  }
  EXPECT_EQ(compared, 1);
}

TEST(Chain, ASingleCandidateSpendsANumberOfLlamasStream) {
  const auto cases = golden_cases("dist.json");
  const Json& align = *std::find_if(cases.begin(), cases.end(), [](const Json& test_case) {
    return test_case["id"].get<std::string>().starts_with("dist_align");
  });
  Chain chain = chain_of({{"samplers", ""}, {"rng", "mt19937"}});
  Candidates workspace;
  for (std::size_t i = 0; i < align["selected"].size(); ++i) {
    const auto logits = golden_input(i % 3 == 0 ? "single8" : "desc8");  // in single8 token 3 is the only legal one
    const auto selection = chain.select(logits, {.seed = align["seed"].get<std::uint32_t>()}, workspace);
    ASSERT_TRUE(selection);
    EXPECT_EQ(selection->id, align["selected"][i].get<int>()) << i;
    chain.accept(selection->id);
  }
}

TEST(Chain, DrawsFollowTheDistribution) {
  const auto logits = golden_input("desc8");
  Chain chain = chain_of({{"samplers", ""}});
  Candidates workspace;
  std::vector<double> counts(logits.size());
  std::vector<double> expected(logits.size());
  constexpr int kDraws = 100'000;
  for (std::uint32_t cell = 0; cell < kDraws; ++cell) {
    const auto selection = chain.select(logits, {.seed = 7, .cell = cell}, workspace);
    ASSERT_TRUE(selection);
    counts[static_cast<std::size_t>(selection->id)] += 1;
    expected[static_cast<std::size_t>(selection->id)] = selection->probability * kDraws;
  }
  double chi_square = 0;
  for (std::size_t id = 0; id < counts.size(); ++id)
    chi_square += std::pow(counts[id] - expected[id], 2) / expected[id];
  EXPECT_LT(chi_square, 18.48);  // 1 % of fair generators exceed this with seven degrees of freedom
  EXPECT_GT(chi_square, 1.24);   // and 1 % stay below this
}

TEST(Chain, SelectionDescribesTheDistributionThatWasLeft) {
  const std::vector<float> logits = {0, 2, 1, -kInfinity};
  Candidates workspace;
  const auto selection = chain_of({{"samplers", "top_k"}, {"top_k", "2"}}).select(logits, {.seed = 1}, workspace);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->candidates_left, 2U);
  const double p1 = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(selection->probability, selection->id == 1 ? p1 : 1 - p1, 1e-7);
  EXPECT_NEAR(selection->log_probability, std::log(selection->probability), 1e-7);
  EXPECT_EQ(chain_of({{"samplers", ""}}).select(logits, {}, workspace)->candidates_left, 3U);
}

TEST(Chain, APlaceDeterminesTheDraw) {
  const auto logits = golden_input("gauss1k");
  Candidates workspace;
  Candidates other_workspace;
  Chain chain = chain_of({});
  Chain other = chain_of({});
  std::size_t different = 0;
  for (std::uint32_t cell = 0; cell < 50; ++cell) {
    const DrawPlace place{.seed = 11, .candidate = 2, .cell = cell};
    const auto id = chain.select(logits, place, workspace)->id;
    EXPECT_EQ(other.select(logits, place, other_workspace)->id, id);
    different += other.select(logits, {.seed = 12, .candidate = 2, .cell = cell}, other_workspace)->id != id;
  }
  EXPECT_GT(different, 10U);
}

TEST(Chain, OrderIsData) {
  const auto names = [](const Chain& chain) {
    std::string joined;
    for (const Json& sampler : chain.describe()) joined += sampler["name"].get<std::string>() + " ";
    return joined;
  };
  EXPECT_EQ(names(chain_of({})), "top_k top_p min_p temperature ");
  EXPECT_EQ(names(chain_of({{"samplers", "temp;nucleus;top-k"}})), "temperature top_p top_k ");
  EXPECT_EQ(names(chain_of({{"sampler_seq", "tpk"}})), "temperature top_p top_k ");
  EXPECT_EQ(names(chain_of({{"sampler_order", "5,0"}, {"smoothing_factor", "1"}})), "temperature smoothing top_k ");
  EXPECT_EQ(names(chain_of({{"samplers", "top_k;top_k=3;top_p"}})), "top_k top_k top_p ");
  EXPECT_EQ(names(chain_of({{"samplers", "adaptive_p;top_k"}, {"adaptive_target", "0.5"}})), "top_k adaptive_p ");
  EXPECT_EQ(names(chain_of({{"samplers", ""}})), "");
  EXPECT_EQ(names(chain_of({{"top_k", "-1"}, {"min_p", "0"}, {"temp", "1"}})), "top_p ");
}

TEST(Chain, DescribesEachSamplerWithItsValues) {
  const Chain chain = chain_of({{"samplers", "top_p;greedy"}, {"top_p", "0.5"}, {"min_keep", "3"}});
  EXPECT_EQ(json_text(chain.describe()), R"([{"name":"top_p","top_p":0.5,"min_keep":3},{"name":"greedy"}])");
}

TEST(Chain, RefusesUnknownSamplersNamingTheKnown) {
  for (const char* order : {"top_k;bogus", "top_k,top_p", ";", "top_k;;top_p", " top_k"}) {
    Settings settings(sampling_parameters());
    ASSERT_TRUE(settings.set_text("samplers", order));
    const auto chain = Chain::create(settings);
    ASSERT_FALSE(chain) << order;
    EXPECT_EQ(chain.error().kind, ErrorKind::usage);
    EXPECT_NE(chain.error().message.find("greedy, infill, logit_bias, min_p, min_tokens"), std::string::npos);
  }
}

TEST(Chain, ErrorsNameThePosition) {
  Candidates workspace;
  Chain chain = chain_of({});
  const auto nan = chain.select(std::vector<float>{0, NAN}, {.cell = 12}, workspace);
  ASSERT_FALSE(nan);
  EXPECT_EQ(nan.error().kind, ErrorKind::failed);
  EXPECT_TRUE(nan.error().message.starts_with("position 12: logit of token 1 is nan")) << nan.error().message;
  const auto masked = chain.select(std::vector<float>{-kInfinity}, {.cell = 3}, workspace);
  EXPECT_EQ(masked.error().kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(masked.error().message, "position 3: no legal token: every token is masked");
}

TEST(Chain, KnowsWhenItIsGreedy) {
  using Values = std::vector<std::pair<std::string, std::string>>;
  for (const Values& values : {Values{{"temperature", "0"}}, Values{{"top_k", "1"}}, Values{{"top_p", "0"}},
                               Values{{"samplers", "greedy"}}, Values{{"samplers", "greedy;temperature"}}}) {
    EXPECT_TRUE(chain_of(values).is_greedy());
  }
  for (const Values& values : {Values{}, Values{{"samplers", ""}}, Values{{"top_p", "0"}, {"min_keep", "2"}},
                               Values{{"samplers", "temperature;greedy"}}}) {
    EXPECT_FALSE(chain_of(values).is_greedy());
  }
}

TEST(Chain, ParametersAreDeclaredOnce) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : sampling_parameters()) names.push_back(parameter.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "min_keep"));
}

}  // namespace
}  // namespace plm
