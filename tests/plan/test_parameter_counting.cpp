#include "plan/parameter_counting.h"

#include "plan_cases.h"

namespace plm {
namespace {

std::optional<std::uint64_t> expected(const Json& expect, const char* key) {
  return expect.contains(key) ? std::optional(expect[key].get<std::uint64_t>()) : std::nullopt;
}

TEST(ParameterCounting, EveryModelOfTheCases) {
  PLM_NEEDS_PLAN_CASES();
  const auto cases = plan_cases("params");
  EXPECT_EQ(cases.size(), 54U);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["id"]);
    const auto counts = count_parameters(plan_model(one["model"]));
    ASSERT_TRUE(counts.has_value()) << counts.error().message;
    EXPECT_EQ(counts->stored, expected(one["expect"], "n_total"));
    EXPECT_EQ(counts->active, expected(one["expect"], "n_active"));
    EXPECT_EQ(counts->multiplied, expected(one["expect"], "n_matmul"));
    EXPECT_EQ(counts->without_embeddings, expected(one["expect"], "n_non_embedding"));
  }
}

TEST(ParameterCounting, ExpertsThatSeveralRowsMeet) {
  EXPECT_EQ(met_experts(0, 0, 4), 0);
  EXPECT_DOUBLE_EQ(met_experts(8, 2, 4), 5.46875);
  PLM_NEEDS_PLAN_CASES();
  const auto cases = plan_cases("distinct_experts");
  EXPECT_EQ(cases.size(), 7U);
  for (const Json& one : cases) {
    EXPECT_NEAR(met_experts(one["experts"], one["top_k"], one["tokens"]), one["expect"]["value"].get<double>(), 1e-9)
        << one["id"];
  }
}

TEST(ParameterCounting, ADenseNetworkByHand) {
  // 3 heads of 4 on 10 numbers, one of them with keys and values; gated network of 7; two norms.
  ModelSketch sketch{.name = "tiny", .family = "", .vocabulary = 11, .hidden = 10, .final = 10};
  sketch.kinds = {{.mixers = {AttentionMixer{.q_heads = 3, .kv_heads = 1, .head_size = 4}},
                   .feed_forward = FeedForwardSketch{.size = 7},
                   .norm = 20}};
  sketch.layers = {0, 0};
  const auto counts = count_parameters(sketch);
  ASSERT_TRUE(counts.has_value());
  const std::uint64_t layer = 120 + 40 + 40 + 120 + 210 + 20;
  EXPECT_EQ(counts->stored, 2 * layer + 110 + 110 + 10);
  EXPECT_EQ(counts->active, counts->stored);
  EXPECT_EQ(counts->multiplied, *counts->active - 110);
  EXPECT_EQ(counts->without_embeddings, counts->stored - 220);
  sketch.is_tied = true;
  EXPECT_EQ(count_parameters(sketch)->stored, counts->stored - 110);
  EXPECT_EQ(count_parameters(sketch)->multiplied, count_parameters(sketch)->active);
}

TEST(ParameterCounting, AMixerWhoseWeightsAreNotToldIsAnError) {
  ModelSketch sketch{.name = "tiny", .family = "", .vocabulary = 11, .hidden = 10};
  sketch.kinds = {{.mixers = {ChannelDeltaMixer{.heads = 1, .head_size = 2, .taps = 4}}, .feed_forward = {}}};
  sketch.layers = {0};
  const auto counts = count_parameters(sketch);
  ASSERT_FALSE(counts.has_value());
  EXPECT_EQ(counts.error().kind, ErrorKind::usage);
  sketch.stated = StatedCounts{.total = 1000, .of_experts = 800, .experts = 8, .used = 2};
  EXPECT_EQ(count_parameters(sketch)->stored, 1000U);
  EXPECT_EQ(count_parameters(sketch)->active, 400U);
}

}  // namespace
}  // namespace plm
