// Every family against an independent float32 oracle: logits, hidden states, step-by-step decoding, greedy text, bit
// equality of chunks. A row a fixture. Covers src/model/arch/, src/model/layers/dense_model.cpp and attention.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "oracle_numbers.h"
#include "single_sequence.h"

namespace plm {
namespace {

constexpr float kTolerance = 1e-4F;  // the oracle's own suggestion for float32 engines

struct Fixture {
  const char* name;  ///< of the golden file
  const char* gguf;
  std::vector<std::string> overrides = {};
  std::size_t context = 0;  ///< configured; 0: the trained one
  bool is_shared = false;   ///< lies with the large data, which may be missing

  [[nodiscard]] static std::string shared() { return std::string(PLM_SHARED) + "/conformance/oracle/"; }
  [[nodiscard]] std::string gguf_path() const {
    return is_shared ? shared() + "gguf/" + gguf : std::string(PLM_GOLDEN) + "/oracle/" + gguf;
  }
  [[nodiscard]] std::string golden_path() const {
    return is_shared ? shared() + "fixtures/" + name + "/golden.safetensors"
                     : std::string(PLM_GOLDEN) + "/oracle/" + name + ".golden.safetensors";
  }
};

const Fixture kFixtures[] = {
    {"llama", "llama-f32.gguf"},
    {"llama_rope_linear", "llama_rope_linear-bf16.gguf"},
    {"llama_rope_llama3", "llama_rope_llama3-f32.gguf"},
    {"llama_rope_yarn", "llama_rope_yarn-bf16.gguf"},
    {"llama_rope_dynamic", "llama_rope_dynamic-bf16.gguf", {}, 40},
    {"llama_tied_mqa_hd", "llama_tied_mqa_hd-bf16.gguf"},
    {"mistral_swa", "mistral_swa-bf16.gguf", {"llama.attention.sliding_window=8"}},
    {"qwen2", "qwen2-bf16.gguf"},
    {"qwen3", "qwen3-f32.gguf"},
    {"gemma2", "gemma2-bf16.gguf"},
    {"gemma3_text", "gemma3_text-f32.gguf"},
    {"phi3", "phi3-bf16.gguf"},
    {"phi3_longrope", "phi3_longrope-bf16.gguf"},
    {"phi3_longrope_short", "phi3_longrope-bf16.gguf", {}, 32},
    {"phi3_partial", "phi3_partial-bf16.gguf"},
    {"smollm3", "smollm3-bf16.gguf"},
    {"olmo2", "olmo2-bf16.gguf"},
    {"olmo3", "olmo3-bf16.gguf"},
    {"mixtral", "mixtral-bf16.gguf"},
    {"qwen3_moe", "qwen3_moe-bf16.gguf", {}, 0, true},
    {"gpt_oss_notrunc", "gpt_oss-bf16.gguf"},
    {"gpt_oss", "gpt_oss-bf16.gguf", {"gpt-oss.rope.scaling.yarn_truncate=true"}},
    {"deepseek_v2", "deepseek_v2-bf16.gguf", {}, 0, true},
    {"deepseek_v2_lite", "deepseek_v2_lite-bf16.gguf", {}, 0, true},
    {"deepseek_v3", "deepseek_v3-bf16.gguf"},
    {"deepseek_v2_old", "deepseek_v2_old-bf16.gguf"},
    {"olmoe", "olmoe-bf16.gguf"},
    {"qwen2_moe", "qwen2_moe-bf16.gguf"},
};

class Families : public testing::TestWithParam<std::tuple<Fixture, KernelChoice>> {
 protected:
  static const Fixture& fixture() { return std::get<0>(GetParam()); }
  void SetUp() override {
    if (fixture().is_shared && !std::filesystem::exists(fixture().gguf_path())) GTEST_SKIP() << "no shared data";
  }
  static std::shared_ptr<const SafetensorsFile> golden() {
    return SafetensorsFile::open(fixture().golden_path()).value();
  }
  static SingleSequence sequence() {
    SequenceOptions options;
    options.overrides = fixture().overrides;
    options.context = fixture().context;
    return SingleSequence(fixture().gguf_path(), make_cpu_device({.threads = 1, .kernels = std::get<1>(GetParam())}),
                          options);
  }
};

TEST_P(Families, LogitsAndHiddenStatesEqualTheOracle) {
  const auto oracle = golden();
  SingleSequence ours = sequence();
  const auto logits = flat(ours.append(golden_ids(*oracle, "input_ids")));
  EXPECT_LE(largest_difference(logits, golden_floats(*oracle, "logits")), kTolerance);

  EXPECT_LE(largest_difference(ours.taps.at("embed"), golden_floats(*oracle, "hidden.embed.out")), kTolerance);
  EXPECT_LE(largest_difference(ours.taps.at("final_norm"), golden_floats(*oracle, "hidden.final_norm.out")),
            kTolerance);
  const bool is_deep = ours.model->shape().layer_count > 8;
  for (std::size_t layer = 0; layer < ours.model->shape().layer_count; ++layer) {
    const std::string mine = "layer." + std::to_string(layer);
    const std::string theirs = "hidden.layer." + std::to_string(layer);
    const std::pair<const char*, const char*> taps[] = {
        {"", ".out"}, {".attn", ".self_attn.out"}, {".ffn", ".mlp.out"}};
    for (const auto& [tap, name] : taps) {
      // Of deep networks the oracle keeps every fifth layer.
      if (is_deep && oracle->find(theirs + name) == nullptr) continue;
      EXPECT_LE(largest_difference(ours.taps.at(mine + tap), golden_floats(*oracle, theirs + name)), kTolerance)
          << mine << tap;
    }
  }
}

TEST_P(Families, GreedyContinuationIsIdentical) {
  const auto oracle = golden();
  if (oracle->find("greedy_prompt") == nullptr) GTEST_SKIP() << "the oracle wrote none";
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

TEST_P(Families, ChunksOfAnySizeGiveTheSameBits) {
  const auto tokens = golden_ids(*golden(), "input_ids");
  SingleSequence whole = sequence();
  const auto expected = flat(whole.append(tokens));
  for (const std::size_t chunk : {1U, 7U, 16U}) {
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

INSTANTIATE_TEST_SUITE_P(Fixtures, Families,
                         testing::Combine(testing::ValuesIn(kFixtures),
                                          testing::Values(KernelChoice::reference, KernelChoice::fast)),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param).name) +
                                  (std::get<1>(instance.param) == KernelChoice::fast ? "_fast" : "_reference");
                         });

/// The same checkpoint in twelve mixtures of storage types; the oracle computed with exactly the unpacked weights.
class QuantisedLlama : public testing::TestWithParam<const char*> {
 protected:
  static std::string folder() { return std::string(PLM_GOLDEN) + "/oracle/q256/"; }
  static std::string gguf() { return folder() + "llama_q256-" + GetParam() + ".gguf"; }
  static std::shared_ptr<const SafetensorsFile> golden() {
    return SafetensorsFile::open(folder() + "q256_golden.safetensors").value();
  }
  static std::string key() { return std::string("logits.") + GetParam(); }
};

TEST_P(QuantisedLlama, LogitsEqualTheOracleWithFloat32Activations) {
  const auto oracle = golden();
  for (const KernelChoice kernels : {KernelChoice::reference, KernelChoice::fast}) {
    SingleSequence sequence(gguf(), quant_f32, {.threads = 1, .kernels = kernels, .activations = Activations::f32});
    const auto logits = flat(sequence.append(golden_ids(*oracle, "input_ids")));
    EXPECT_LE(largest_difference(logits, golden_floats(*oracle, key())), kTolerance);
  }
}

TEST_P(QuantisedLlama, RoundedActivationsCostLittle) {
  const auto oracle = golden();
  const auto expected = golden_floats(*oracle, key());
  for (const auto& [activations, bound] : {std::pair{Activations::int16, 1e-3F}, std::pair{Activations::int8, 0.2F}}) {
    SingleSequence sequence(gguf(), quant_f32, {.threads = 1, .activations = activations});
    const auto logits = flat(sequence.append(golden_ids(*oracle, "input_ids")));
    double squares = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) squares += std::pow(double{logits[i]} - expected[i], 2);
    EXPECT_LE(std::sqrt(squares / static_cast<double>(logits.size())), bound);
  }
}

INSTANTIATE_TEST_SUITE_P(Mixtures, QuantisedLlama,
                         testing::Values("IQ4_NL", "IQ4_XS", "Q2_K", "Q3_K_M", "Q4_0", "Q4_1", "Q4_K_M", "Q5_0", "Q5_1",
                                         "Q5_K_M", "Q6_K", "Q8_0"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace plm
