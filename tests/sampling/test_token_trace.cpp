#include "sampling/token_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Traced {
  Selection selection;
  TokenTrace trace;
};

Traced traced(Chain& chain, const std::vector<float>& logits, std::size_t top = 3, std::uint32_t cell = 0) {
  Candidates workspace;
  Tracer tracer;
  tracer.note_top(top);
  const Selection selection = chain.select(logits, {.seed = 2, .cell = cell}, workspace, &tracer).value();
  return {selection, tracer.finish(selection)};
}

double softmax(const std::vector<float>& logits, std::size_t id, double temperature = 1) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - logits[id]) / temperature);
  return 1 / sum;
}

double entropy(const std::vector<float>& logits) {
  double sum = 0;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double p = softmax(logits, id);
    sum -= p > 0 ? p * std::log(p) : 0;
  }
  return sum;
}

TEST(TokenTrace, TellsTheFunnelOfATopKChain) {
  const std::vector<float> logits = {0, 3, -kInfinity, 2, 1};
  Chain chain = chain_of({{"samplers", "top_k;temperature"}, {"top_k", "2"}, {"temperature", "0.5"}});
  const auto [selection, trace] = traced(chain, logits);
  EXPECT_EQ(trace.id, selection.id);
  EXPECT_EQ(trace.random, selection.random);
  EXPECT_EQ(trace.raw.support, 4U);
  EXPECT_NEAR(trace.raw.entropy, entropy(logits), 1e-6);
  const bool is_first = selection.id == 1;
  EXPECT_EQ(trace.raw.rank, is_first ? 1U : 2U);
  EXPECT_NEAR(trace.raw.probability, softmax(logits, static_cast<std::size_t>(selection.id)), 1e-7);
  ASSERT_EQ(trace.top.size(), 3U);
  EXPECT_EQ(trace.top[0].id, 1);
  EXPECT_EQ(trace.top[2].id, 4);
  EXPECT_EQ(trace.top[1].logit, 2);
  EXPECT_NEAR(trace.top[1].probability, softmax(logits, 3), 1e-7);

  ASSERT_EQ(trace.steps.size(), 2U);
  EXPECT_EQ(trace.steps[0].sampler, "top_k");
  EXPECT_EQ(trace.steps[0].after.support, 2U);
  EXPECT_NEAR(trace.steps[0].removed_mass, softmax(logits, 0) + softmax(logits, 4), 1e-6);
  EXPECT_NEAR(trace.steps[0].after.entropy, entropy({3, 2}), 1e-6);
  EXPECT_EQ(trace.steps[1].sampler, "temperature");
  EXPECT_EQ(trace.steps[1].removed_mass, 0);
  EXPECT_NEAR(trace.steps[1].after.probability, softmax({3, 2}, is_first ? 0 : 1, 0.5), 1e-7);
  EXPECT_NEAR(trace.steps[1].after.probability, selection.probability, 1e-7);
}

TEST(TokenTrace, MaskedTokensAreRemovedMass) {
  const std::vector<float> logits = {2, 2, 0, 0};
  Chain chain = chain_of({{"samplers", ""}, {"logit_bias", "0=-inf,3=1"}});
  const auto trace = traced(chain, logits).trace;
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps[0].after.support, 3U);
  EXPECT_NEAR(trace.steps[0].removed_mass, softmax(logits, 0), 1e-7);
}

TEST(TokenTrace, RanksFollowWhatSamplersChange) {
  Chain chain = chain_of({{"samplers", "penalties;top_k"}, {"presence_penalty", "5"}, {"top_k", "1"}});
  chain.begin(std::vector<std::int32_t>{1});
  const auto [selection, trace] = traced(chain, {1, 3, 2});
  EXPECT_EQ(selection.id, 2);
  EXPECT_EQ(trace.raw.rank, 2U);
  EXPECT_EQ(trace.steps[0].after.rank, 1U);
  EXPECT_EQ(trace.steps[1].after.support, 1U);
  EXPECT_EQ(trace.steps[1].after.entropy, 0);
}

// Of a sampler that changes few tokens of many, only these are looked at.
TEST(TokenTrace, FewChangesInAWholeVocabularyAreTracedAsTheyAre) {
  std::vector<float> logits = golden_input("gauss1k"), biased = logits;
  logits[7] = logits[500] = logits[900];  // a tie that the bias breaks
  biased = logits;
  biased[500] += 1.5F;
  biased[3] -= 4;
  biased[900] = -kInfinity;
  Chain chain = chain_of({{"samplers", "top_p"}, {"logit_bias", "500=1.5,3=-4,900=-inf"}, {"top_p", "0.5"}});
  for (std::uint32_t cell = 0; cell < 20; ++cell) {
    const auto trace = traced(chain, logits, 3, cell).trace;
    ASSERT_EQ(trace.steps.size(), 2U);
    const TraceStep& bias = trace.steps[0];
    EXPECT_EQ(bias.after.support, logits.size() - 1);
    EXPECT_NEAR(bias.after.entropy, entropy(biased), 1e-6);
    EXPECT_NEAR(bias.removed_mass, softmax(logits, 900), 1e-7);
    const auto id = static_cast<std::size_t>(trace.id);
    EXPECT_NEAR(bias.after.probability, softmax(biased, id), 1e-7);
    std::size_t rank = 1;
    for (std::size_t i = 0; i < biased.size(); ++i) {
      rank += biased[i] > biased[id] || (biased[i] == biased[id] && i < id) ? 1 : 0;
    }
    EXPECT_EQ(bias.after.rank, rank);
    double kept = 0;
    for (std::size_t i = 0; i < biased.size(); ++i) {
      kept += softmax(biased, i) >= softmax(biased, id) ? softmax(biased, i) : 0;
    }
    EXPECT_LE(trace.steps[1].removed_mass, 1 - kept + 1e-6);
    EXPECT_NEAR(trace.steps[1].removed_mass, 0.5, 0.05);
  }
}

TEST(TokenTrace, AChangedVocabularyIsTracedAsItIs) {
  const std::vector<float> logits = golden_input("gauss1k");
  std::vector<float> half = logits;
  for (float& logit : half) logit /= 2;
  for (const char* bias : {"", "5=40", "5=-3"}) {  // the second leaves nearly all with one token
    std::vector<float> row = half;
    if (*bias != 0) row[5] += static_cast<float>(std::atof(bias + 2)) / 2;
    Chain chain = chain_of({{"samplers", "temperature"}, {"temperature", "2"}, {"logit_bias", bias}});
    const auto trace = traced(chain, logits).trace;
    EXPECT_NEAR(trace.steps.back().after.entropy, entropy(row), 1e-6) << bias;
    EXPECT_EQ(trace.steps.back().removed_mass, 0);
    EXPECT_NEAR(trace.steps.back().after.probability, softmax(row, static_cast<std::size_t>(trace.id)), 1e-6);
  }
}

TEST(TokenTrace, ControllersShowTheNumbersTheyWorkedWith) {
  Chain chain = chain_of({{"samplers", "temperature;mirostat"}, {"mirostat", "2"}, {"mirostat_tau", "3"}});
  const auto logits = golden_input("gauss1k");
  auto [selection, trace] = traced(chain, logits);
  ASSERT_EQ(trace.steps.size(), 2U);
  EXPECT_EQ(trace.steps[1].state, std::vector<double>{6});
  EXPECT_TRUE(trace.steps[0].state.empty());
  chain.accept(selection.id);
  const double mu = chain.state()[0];
  EXPECT_EQ(traced(chain, logits, 3, 1).trace.steps[1].state, std::vector<double>{mu});
}

// Listening changes nothing, for any chain and with either kind of random numbers.
TEST(TokenTrace, ATracedChainChoosesTheSameTokens) {
  for (const char* rng : {"philox", "mt19937"}) {
    for (const char* order : {"penalties;dry;top_n_sigma;top_k;typical_p;top_p;min_p;xtc;temperature",
                              "typical_p;temperature;adaptive_p", "temperature;mirostat", ""}) {
      const std::vector<std::pair<std::string, std::string>> values = {
          {"samplers", order},        {"rng", rng},      {"repeat_penalty", "1.2"}, {"xtc_probability", "0.5"},
          {"adaptive_target", "0.3"}, {"mirostat", "2"}, {"typical_p", "0.8"},      {"dry_multiplier", "0.8"},
          {"top_n_sigma", "2"}};
      Chain plain = chain_of(values), listened = chain_of(values);
      Candidates workspace;
      for (std::uint32_t cell = 0; cell < 30; ++cell) {
        const auto logits = golden_input(cell % 2 == 0 ? "gauss1k" : "gauss64");
        const auto expected = plain.select(logits, {.seed = 2, .cell = cell}, workspace);
        const Traced found = traced(listened, logits, 5, cell);
        ASSERT_EQ(found.selection.id, expected->id) << order << " " << rng << " " << cell;
        ASSERT_EQ(found.selection.probability, expected->probability);
        if (!found.trace.steps.empty()) {
          EXPECT_EQ(found.trace.steps.back().after.support, expected->candidates_left);
          EXPECT_NEAR(found.trace.steps.back().after.probability, expected->probability, 1e-7);
        }
        plain.accept(expected->id);
        listened.accept(expected->id);
      }
    }
  }
}

TEST(TokenTrace, AsJsonItHasTheDocumentedFields) {
  Chain chain = chain_of({{"samplers", "top_k;mirostat"}, {"top_k", "2"}, {"mirostat", "2"}});
  const Json json = as_json(traced(chain, {1, 2, 3}, 1).trace);
  for (const char* field : {"id", "random", "raw", "steps"}) EXPECT_TRUE(json.contains(field)) << field;
  for (const char* field : {"support", "entropy", "rank", "probability", "top"}) {
    EXPECT_TRUE(json["raw"].contains(field)) << field;
  }
  EXPECT_EQ(json["raw"]["top"][0]["id"], 2);
  EXPECT_EQ(json["steps"][0]["sampler"], "top_k");
  EXPECT_FALSE(json["steps"][0].contains("state"));
  EXPECT_EQ(json["steps"][1]["state"], Json::array({10.0}));
}

}  // namespace
}  // namespace plm
