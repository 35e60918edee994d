// Model files with one thing wrong: each is refused with one sentence that names the file and the key or tensor, and
// what is merely odd is accepted with a warning. Covers src/model/arch/arch_llama.cpp and src/model/layers/.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu_device.h"
#include "model/architecture.h"
#include "model/tiny_llama.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(OpenTiny& open) {
  static const std::unique_ptr<Device> device = make_cpu_device({.threads = 1});
  return load_model(open.file, *device);
}

void expect_refusal(const TinyLlama& model, const std::string& culprit) {
  OpenTiny open(model);
  const auto loaded = load(open);
  ASSERT_FALSE(loaded.has_value()) << culprit;
  EXPECT_EQ(loaded.error().kind, ErrorKind::bad_input) << culprit;
  EXPECT_EQ(loaded.error().message.find("tiny.gguf: "), 0U) << loaded.error().message;
  EXPECT_NE(loaded.error().message.find(culprit), std::string::npos) << loaded.error().message;
}

TEST(RefusedModels, EveryKeyIsChecked) {
  struct Rule {
    const char* key;
    bool is_needed;
    std::vector<TinyValue> bad;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  const Rule rules[] = {
      {"llama.block_count", true, {0U, 1U, 3U, 1025U, 4294967295U, -1, 2.0F, "2"}},
      {"llama.context_length", true, {0U, 4294967295U, -1, "64"}},
      {"llama.embedding_length", true, {0U, 31U, 4294967295U, -1, "32"}},
      {"llama.feed_forward_length", true, {0U, 63U, 4294967295U, "64"}},
      {"llama.attention.head_count", true, {0U, 3U, 64U, 4294967295U, -1, "4"}},
      {"llama.attention.head_count_kv", false, {0U, 3U, 5U, 8U, 4294967295U, "2"}},
      {"llama.attention.key_length", false, {0U, 1U, 7U, 16U, 4294967295U, "8"}},
      {"llama.attention.value_length", false, {0U, 4U, 16U, 4294967295U, "8"}},
      {"llama.attention.layer_norm_rms_epsilon", true, {0.0F, -1e-5F, 2.0F, infinity, not_a_number, 1U, "small"}},
      {"llama.rope.dimension_count", false, {0U, 1U, 7U, 10U, 4294967295U, "8"}},
      {"llama.rope.freq_base", false, {0.0F, -1.0F, infinity, not_a_number, 10000U, "high"}},
      {"llama.rope.scaling.type", false, {1U, "longrope"}},
      {"llama.vocab_size", false, {0U, 47U, 49U, "48"}},
      {"llama.expert_count", false, {8U, "none"}},
      {"llama.attention.sliding_window", false, {-1, "wide"}},
  };
  for (const Rule& rule : rules) {
    TinyLlama without;
    without.keys.erase(rule.key);
    if (rule.is_needed) {
      expect_refusal(without, rule.key);
    } else if (std::string_view(rule.key) != "llama.attention.head_count_kv") {  // here it would change shapes
      OpenTiny open(without);
      EXPECT_TRUE(load(open).has_value()) << rule.key;
    }
    for (const TinyValue& bad : rule.bad) {
      TinyLlama model;
      model.keys[rule.key] = bad;
      OpenTiny open(model);
      const auto loaded = load(open);
      ASSERT_FALSE(loaded.has_value()) << rule.key;
      EXPECT_EQ(loaded.error().kind, ErrorKind::bad_input);
      EXPECT_EQ(loaded.error().message.find("tiny.gguf: "), 0U) << loaded.error().message;
      // A number that is in range but not true shows in the shape of a tensor.
      const std::string_view short_key = std::string_view(rule.key).substr(6);  // without "llama."
      const bool names_culprit = loaded.error().message.find(short_key) != std::string::npos ||
                                 loaded.error().message.find(": tensor ") != std::string::npos;
      EXPECT_TRUE(names_culprit) << rule.key << ": " << loaded.error().message;
    }
  }
}

TEST(RefusedModels, EveryTensorIsChecked) {
  const TinyLlama good;
  for (const auto& [name, tensor] : good.tensors) {
    TinyLlama missing = good;
    missing.tensors.erase(name);
    expect_refusal(missing, "tensor " + name + ": missing");

    TinyLlama longer = good;
    longer.tensors[name].dims[0] += 1;
    expect_refusal(longer, "tensor " + name + ": shape [");

    TinyLlama damaged = good;
    damaged.tensors[name].fill = std::numeric_limits<float>::quiet_NaN();
    expect_refusal(damaged, "tensor " + name + ": NaN");

    TinyLlama unusable = good;
    unusable.tensors[name].type = "Q8_1";
    expect_refusal(unusable, "tensor " + name + ": storage type Q8_1");

    if (tensor.dims.size() == 2 && tensor.dims[0] != tensor.dims[1] && name != "token_embd.weight") {
      TinyLlama transposed = good;
      std::swap(transposed.tensors[name].dims[0], transposed.tensors[name].dims[1]);
      expect_refusal(transposed, "tensor " + name + ": shape [");
    }
  }
}

TEST(RefusedModels, AMissingEmbeddingIsNamedEvenWhereTheVocabularySizeIsStated) {
  TinyLlama model;
  model.keys["llama.vocab_size"] = TinyLlama::kVocab;
  model.tensors.erase("token_embd.weight");
  expect_refusal(model, "tensor token_embd.weight: missing");
}

TEST(RefusedModels, BiasesAndAHeadAreReadWhenThereAndChecked) {
  for (const char* name : {"blk.1.attn_q.bias", "blk.0.ffn_down.bias", "output.weight"}) {
    TinyLlama model;
    model.tensors[name] = {.dims = {TinyLlama::kHidden}};
    if (std::string_view(name) == "output.weight") model.tensors[name].dims.push_back(TinyLlama::kVocab);
    OpenTiny open(model);
    ASSERT_TRUE(load(open).has_value()) << name;
    EXPECT_TRUE(open.file.warnings().empty()) << open.file.warnings()[0];
    model.tensors[name].dims[0] += 1;
    expect_refusal(model, std::string("tensor ") + name + ": shape [");
  }
}

TEST(RefusedModels, WhatIsMerelyOddIsAWarning) {
  TinyLlama model;
  model.keys["llama.attention.sliding_window"] = 16U;
  model.tensors["blk.0.ffn_norm.weight"].type = "F16";
  model.tensors["blk.0.extra.weight"] = {.dims = {4}};
  OpenTiny open(model);
  ASSERT_TRUE(load(open).has_value());
  const auto& warnings = open.file.warnings();
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_EQ(warnings[0].find("tiny.gguf: llama.attention.sliding_window = 16: not applied"), 0U) << warnings[0];
  EXPECT_EQ(warnings[1].find("tiny.gguf: tensor blk.0.ffn_norm.weight: stored as f16"), 0U) << warnings[1];
  EXPECT_EQ(warnings[2].find("tiny.gguf: tensor blk.0.extra.weight: not used"), 0U) << warnings[2];
}

}  // namespace
}  // namespace plm
