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

TEST(Chain, SeveralSamplersAgreeWithTheGoldenCases) { expect_golden("chains.json", 18); }

// llama.cpp's seeded draws, with its own random numbers: the index in descending order must be the same.
TEST(Chain, DrawsAsTheGoldenCases) {
  int compared = 0;
  for (const Json& test_case : golden_cases("dist.json")) {
    const auto order = test_case.value("array_order", std::vector<std::size_t>{});
    if (order.empty()) continue;
    const auto logits = golden_input(test_case["input"]);
    const auto descends = [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; };
    if (!std::is_sorted(order.begin(), order.end(), descends)) continue;  // drawn in an order that is not ours
    SCOPED_TRACE(test_case["id"].get<std::string>());
    Candidates candidates;
    ASSERT_TRUE(candidates.reset(logits));
    for (const auto& sampler : golden_samplers(test_case)) ASSERT_TRUE(sampler->apply(candidates, {}));
    const auto sorted = in_canonical_order(candidates);
    std::mt19937 words(test_case["seed"].get<std::uint32_t>());
    for (const Json& index : test_case["index"]) {
      const double low = words();
      const double u = (low + words() * 0x1p32) * 0x1p-64;
      EXPECT_EQ(candidates.pick(u).id, sorted[index.get<std::size_t>()].id);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 12 * 32);
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
    EXPECT_NE(chain.error().message.find("greedy, min_p, temperature, top_k, top_p"), std::string::npos);
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
