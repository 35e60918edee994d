// Families with recurrent layers against an independent float32 oracle: logits, hidden states, step-by-step decoding,
// greedy text, bit equality of chunks and of steps back. A row a fixture. Covers src/model/layers/hybrid_model.cpp and
// the mixers in src/model/layers/mamba.cpp, delta_net.cpp and gated_attention.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "oracle_numbers.h"
#include "single_sequence.h"

namespace plm {
namespace {

/// An intermediate of ours and the oracle's, which may lack a factor that our file has inside the weights.
struct Tap {
  const char* ours;
  const char* theirs;
  float factor = 1;
};

struct Fixture {
  const char* name;
  const char* gguf;
  std::vector<Tap> taps;  ///< of every layer that has them
  float embedding_factor = 1;
  float tolerance = 1e-4F;
};

const Fixture kFixtures[] = {
    {"mamba2", "mamba2-bf16.gguf", {{".mamba", ".mixer.out"}}},
    // The file has the factors of branches and embeddings inside its weights.
    {"falcon_h1",
     "falcon_h1-f32.gguf",
     {{".mamba", ".mamba.out", 0.7F}, {".attn", ".self_attn.out", 0.9F}, {".ffn", ".feed_forward.out"}},
     1.5F},
    {"granite_hybrid", "granite_hybrid-bf16.gguf", {{".mamba", ".mamba.out"}, {".attn", ".self_attn.out"}}, 2},
    {"qwen3_next",
     "qwen3_next-bf16.gguf",
     {{".delta_net", ".linear_attn.out"}, {".attn", ".self_attn.out"}, {".ffn", ".mlp.out"}},
     1,
     2e-4F},
};

class Hybrids : public testing::TestWithParam<std::tuple<Fixture, KernelChoice>> {
 protected:
  static const Fixture& fixture() { return std::get<0>(GetParam()); }
  static std::string folder() { return std::string(PLM_GOLDEN) + "/oracle/"; }
  static std::shared_ptr<const SafetensorsFile> golden() {
    return SafetensorsFile::open(folder() + fixture().name + ".golden.safetensors").value();
  }
  static SingleSequence sequence() {
    return SingleSequence(folder() + fixture().gguf, quant_f32, {.threads = 1, .kernels = std::get<1>(GetParam())});
  }
  static void expect_near(const std::vector<float>& ours, std::vector<float> theirs, float factor,
                          const std::string& what) {
    for (float& x : theirs) x *= factor;
    EXPECT_LE(largest_difference(ours, theirs), fixture().tolerance) << what;
  }
};

TEST_P(Hybrids, LogitsAndHiddenStatesEqualTheOracle) {
  const auto oracle = golden();
  SingleSequence ours = sequence();
  const auto logits = flat(ours.append(golden_ids(*oracle, "input_ids")));
  expect_near(logits, golden_floats(*oracle, "logits"), 1, "logits");
  expect_near(ours.taps.at("embed"), golden_floats(*oracle, "hidden.embed.out"), fixture().embedding_factor, "embed");
  expect_near(ours.taps.at("final_norm"), golden_floats(*oracle, "hidden.final_norm.out"), 1, "final_norm");
  for (std::size_t layer = 0; layer < ours.model->shape().layer_count; ++layer) {
    const std::string mine = "layer." + std::to_string(layer), theirs = "hidden." + mine;
    expect_near(ours.taps.at(mine), golden_floats(*oracle, theirs + ".out"), 1, mine);
    std::size_t compared = 0;
    for (const Tap& tap : fixture().taps) {
      if (oracle->find(theirs + tap.theirs) == nullptr) continue;
      expect_near(ours.taps.at(mine + tap.ours), golden_floats(*oracle, theirs + tap.theirs), tap.factor,
                  mine + tap.ours);
      ++compared;
    }
    EXPECT_GT(compared, 0U) << mine;
  }
}

TEST_P(Hybrids, GreedyContinuationIsIdentical) {
  const auto oracle = golden();
  SingleSequence ours = sequence();
  std::vector<std::int32_t> next = golden_ids(*oracle, "greedy_prompt");
  std::vector<std::int32_t> written;
  const auto expected = golden_ids(*oracle, "greedy_ids");
  while (written.size() < expected.size()) {
    const std::vector<float> last = ours.append(next).back();
    next.assign(1, static_cast<std::int32_t>(std::max_element(last.begin(), last.end()) - last.begin()));
    written.push_back(next[0]);
  }
  EXPECT_EQ(written, expected);
}

TEST_P(Hybrids, ChunksOfAnySizeGiveTheSameBits) {
  const auto tokens = golden_ids(*golden(), "input_ids");
  SingleSequence whole = sequence();
  const auto expected = flat(whole.append(tokens));
  for (const std::size_t chunk : {1U, 2U, 7U, 16U}) {
    SingleSequence cut = sequence();
    std::vector<float> logits;
    for (std::size_t at = 0; at < tokens.size(); at += chunk) {
      const std::vector<std::int32_t> part(tokens.begin() + at, tokens.begin() + std::min(tokens.size(), at + chunk));
      const auto rows = flat(cut.append(part));
      logits.insert(logits.end(), rows.begin(), rows.end());
    }
    ASSERT_EQ(logits.size(), expected.size());
    EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0) << "chunk " << chunk;
  }
}

TEST_P(Hybrids, AStepBackToACheckpointIsExact) {
  const auto tokens = golden_ids(*golden(), "input_ids");
  const std::vector<std::int32_t> first(tokens.begin(), tokens.begin() + 20);
  const std::vector<std::int32_t> rest(tokens.begin() + 19, tokens.end());
  SingleSequence ours = sequence(), again = sequence();
  const auto last = again.append(first).back();
  ours.append(tokens);
  EXPECT_EQ(ours.state->reachable(19), 0U);
  ours.state->truncate(0);
  EXPECT_EQ(ours.append(first).back(), last);
  const auto expected = again.append({tokens.begin() + 20, tokens.end()});
  ours.append({5, 6, 7});
  EXPECT_EQ(ours.state->reachable(21), 19U);
  ours.state->truncate(19);
  auto found = ours.append(rest);
  EXPECT_EQ(found.front(), last);
  found.erase(found.begin());
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Hybrids,
                         testing::Combine(testing::ValuesIn(kFixtures),
                                          testing::Values(KernelChoice::reference, KernelChoice::fast)),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param).name) +
                                  (std::get<1>(instance.param) == KernelChoice::fast ? "_fast" : "_reference");
                         });

}  // namespace
}  // namespace plm
