#include "serve/token_json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "serve/served_twin.h"

namespace plm {
namespace {

struct Fixture {
  TextPlan plan;
  Answer answer{.plan = &plan, .vocabulary = &twin().model().vocabulary()};
};

TEST(TokenJson, SpellsBytesThatAreNoCharacters) {
  const Vocabulary& vocabulary = twin().model().vocabulary();
  EXPECT_EQ(token_text(vocabulary, 'A'), "A");
  EXPECT_EQ(token_text(vocabulary, 0xC3), "bytes:\\xc3");
  EXPECT_EQ(token_text(vocabulary, 256), "<bos>");
}

TEST(TokenJson, TheChosenTokenIsAmongTheTop) {
  const Fixture fixture;
  const TokenReport reports[] = {{'b', -3.0, {{'a', -0.5}}}, {'c', -INFINITY, {{'a', -0.5}}}};
  std::size_t offset = 10;
  const Json json = openai_logprobs(fixture.answer, reports, offset);
  EXPECT_EQ(json["top_logprobs"][0], (Json{{"a", -0.5}, {"b", -3.0}}));
  EXPECT_EQ(json["token_logprobs"][1], -9999.0) << "JSON has no infinity";
  EXPECT_EQ(json["text_offset"], (Json{10, 11}));
  EXPECT_EQ(offset, 12U);
}

TEST(TokenJson, LlamacppSaysProbabilitiesOfTheChain) {
  Fixture fixture;
  const TokenReport reports[] = {{'b', std::log(0.25), {{'b', std::log(0.25)}}}};
  EXPECT_TRUE(llamacpp_probabilities(fixture.answer, reports)[0].contains("top_logprobs"));
  fixture.plan.basis.log_probabilities = LogProbabilityWish{.of = LogProbabilityWish::Of::chain};
  const Json chain = llamacpp_probabilities(fixture.answer, reports)[0];
  EXPECT_NEAR(chain["prob"].get<double>(), 0.25, 1e-12);
  EXPECT_NEAR(chain["top_probs"][0]["prob"].get<double>(), 0.25, 1e-12);
}

}  // namespace
}  // namespace plm
