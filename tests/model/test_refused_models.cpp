// Model files with one thing wrong: each is refused with one sentence that names the file and the key or tensor, and
// what is merely odd is accepted with a warning. Covers src/model/layers/dense_config.cpp and dense_model.cpp.
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
      {"llama.rope.scaling.type", false, {1U, "longrope", "stretchy"}},
      {"llama.vocab_size", false, {0U, 47U, 49U, "48"}},
      {"llama.expert_count", false, {4294967295U, "none"}},
      {"llama.attention.sliding_window", false, {-1, "wide"}},
      {"llama.attention.scale", false, {0.0F, -1.0F, infinity, not_a_number, "small"}},
      {"llama.attention.causal", false, {1U, "yes"}},
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
  model.tensors["blk.0.ffn_norm.weight"].type = "F16";
  model.keys["llama.tensor_data_layout"] = "Meta AI original pth";
  model.keys["llama.expert_count"] = 0U;
  model.keys["llama.rope.scaling.factor"] = 2.0F;
  model.tensors["v.patch_embd.weight"] = {.dims = {4}};
  OpenTiny open(model);
  ASSERT_TRUE(load(open).has_value());
  const auto& warnings = open.file.warnings();
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].find("tiny.gguf: tensor blk.0.ffn_norm.weight: stored as f16"), 0U) << warnings[0];
  EXPECT_EQ(warnings[1].find("tiny.gguf: tensor v.patch_embd.weight: not used"), 0U) << warnings[1];
}

// A file of a variant would load and compute something else; it is refused before a weight is taken.
TEST(RefusedModels, NothingIsIgnored) {
  const std::pair<const char*, std::uint64_t> tensors[] = {{"blk.0.extra.weight", 4},
                                                           {"blk.1.attn_q_norm.weight", 8},
                                                           {"blk.0.post_attention_norm.weight", TinyLlama::kHidden},
                                                           {"blk.0.attn_norm.bias", TinyLlama::kHidden},
                                                           {"output_norm.bias", TinyLlama::kHidden},
                                                           {"output.bias", TinyLlama::kVocab}};
  for (const auto& [name, size] : tensors) {
    TinyLlama model;
    model.tensors[name] = {.dims = {size}};
    expect_refusal(model, std::string("tensor ") + name + ": not part of architecture llama");
    model.tensors["token_embd.weight"].fill = std::numeric_limits<float>::quiet_NaN();
    expect_refusal(model, std::string("tensor ") + name + ": not part");  // no weight has been looked at yet
    model.tensors["blk.1.more"] = {.dims = {2}};
    expect_refusal(model, "(and 1 more)");
  }
  const std::pair<const char*, TinyValue> keys[] = {
      {"llama.attention.clamp_kqv", 8.0F},      {"llama.rope.freq_base_swa", 1e4F}, {"llama.logit_scale", 0.5F},
      {"llama.final_logit_softcapping", 30.0F}, {"llama.expert_used_count", 2U},    {"llama.residual_scale", 2.0F},
      {"llama.attention.max_alibi_bias", 8.0F}};
  for (const auto& [key, value] : keys) {
    TinyLlama model;
    model.keys[key] = value;
    expect_refusal(model, std::string(key) + " = ");
  }
}

TEST(RefusedModels, AnOverrideThatNothingReadsIsNamed) {
  const OpenTiny plain((TinyLlama()));
  const auto refusal = [&](const std::string& setting) -> std::string {
    const auto set = GgufFile::overridden(plain.gguf, std::vector<std::string>{setting}).value();
    ModelFile file = ModelFile::open(set).value();
    const auto loaded = load_model(file, *make_cpu_device({.threads = 1}));
    return loaded.has_value() ? "accepted" : loaded.error().message;
  };
  EXPECT_EQ(refusal("llama.attention.sliding_window=8"), "accepted");
  EXPECT_EQ(refusal("general.name=me"), "accepted");
  EXPECT_EQ(refusal("llama.attention.sliding_windw=8").find("override llama.attention.sliding_windw: "), 0U);
  EXPECT_EQ(refusal("llama.rope.scaling.factor=2.0").find("override llama.rope.scaling.factor: "), 0U)
      << "without a type of scaling a factor says nothing";
  EXPECT_NE(refusal("llama.attention.head_count_kv=3").find("must be a divisor"), std::string::npos);
}

TinyLlama tiny_mixture() { return TinyLlama().with_experts(); }

TEST(RefusedModels, MixturesAreCheckedBeforeAnythingIsTaken) {
  OpenTiny good(tiny_mixture());
  const auto loaded = load(good);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_TRUE(good.file.warnings().empty());
  const std::pair<std::map<std::string, TinyValue>, const char*> cases[] = {
      {{{"llama.expert_used_count", 5U}}, "llama.expert_used_count = 5: must be between 1 and llama.expert_count = 4"},
      {{{"llama.expert_used_count", 0U}}, "llama.expert_used_count = 0: must be between 1 and llama.expert_count = 4"},
      {{{"llama.expert_count", 8U}}, "tensor blk.0.ffn_gate_inp.weight: shape [32, 4], expected [32, 8]"},
      {{{"llama.expert_feed_forward_length", 32U}}, "tensor blk.0.ffn_gate_exps.weight: shape [32, 64, 4], expected"},
      {{{"llama.expert_gating_func", 4U}}, "llama.expert_gating_func = 4"},
      {{{"llama.expert_weights_scale", -1.0F}}, "llama.expert_weights_scale = -1"},
      {{{"llama.expert_group_count", 3U}}, "llama.expert_group_count = 3: must be a divisor of expert_count = 4"},
      {{{"llama.expert_group_count", 4U}, {"llama.expert_group_used_count", 1U}},
       "llama.expert_group_used_count = 1: must be enough for expert_used_count = 2"},
      {{{"llama.expert_group_count", 4U}, {"llama.expert_group_used_count", 3U}, {"llama.expert_gating_func", 2U}},
       "groups of at least 2"},
      {{{"llama.leading_dense_block_count", 3U}}, "llama.leading_dense_block_count = 3"},
      {{{"llama.leading_dense_block_count", 1U}}, "tensor blk.0.ffn_gate.weight: missing"},
      {{{"llama.expert_shared_count", 1U}}, "tensor blk.0.ffn_gate_shexp.weight: missing"},
  };
  for (const auto& [keys, culprit] : cases) {
    TinyLlama model = tiny_mixture();
    for (const auto& [key, value] : keys) model.keys[key] = value;
    model.tensors["token_embd.weight"].fill = std::numeric_limits<float>::quiet_NaN();
    expect_refusal(model, culprit);
  }
  TinyLlama model = tiny_mixture();
  model.tensors["blk.0.exp_probs_b.bias"] = {{4}};  // softmax scores have none
  expect_refusal(model, "tensor blk.0.exp_probs_b.bias: not part");
}

// Files of before the experts stood in one tensor, and of those that join gate and up.
TEST(RefusedModels, ExpertsMayStandAloneOrInPairs) {
  TinyLlama alone = tiny_mixture(), joined = tiny_mixture();
  for (const std::string prefix : {"blk.0.", "blk.1."}) {
    for (const std::string name : {"ffn_gate", "ffn_up", "ffn_down"}) {
      const auto dims = alone.tensors[prefix + name + "_exps.weight"].dims;
      alone.tensors.erase(prefix + name + "_exps.weight");
      for (const char* expert : {".0", ".1", ".2", ".3"}) {
        alone.tensors[prefix + name + expert + ".weight"] = {{dims[0], dims[1]}};
      }
    }
    joined.tensors.erase(prefix + "ffn_gate_exps.weight");
    joined.tensors.erase(prefix + "ffn_up_exps.weight");
    joined.tensors[prefix + "ffn_gate_up_exps.weight"] = {{TinyLlama::kHidden, 2 * TinyLlama::kFfn, 4}};
  }
  for (const TinyLlama* model : {&alone, &joined}) {
    OpenTiny open(*model);
    const auto loaded = load(open);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_TRUE(open.file.warnings().empty());
  }
  TinyLlama mixed = alone;
  mixed.tensors["blk.1.ffn_up.2.weight"].type = "Q8_0";
  expect_refusal(mixed, "tensor blk.1.ffn_up.2.weight: stored as q8_0, expected f32");
  alone.tensors.erase("blk.0.ffn_down.3.weight");
  expect_refusal(alone, "tensor blk.0.ffn_down.3.weight: missing");
}

// The other families, by what they have that llama has not.
TEST(RefusedModels, EveryFamilyChecksWhatIsItsOwn) {
  struct Case {
    const char* architecture;
    std::map<std::string, TinyValue> keys;
    const char* culprit;
  };
  const Case cases[] = {
      {"qwen2", {{"qwen2.attention.sliding_window", 16U}}, "qwen2.attention.sliding_window = 16"},
      {"qwen3", {}, "tensor blk.0.attn_q_norm.weight: missing"},
      {"gemma2", {}, "tensor blk.0.post_attention_norm.weight: missing"},
      {"gemma2", {{"gemma2.attn_logit_softcapping", -1.0F}}, "gemma2.attn_logit_softcapping = -1"},
      {"gemma2", {{"gemma2.attention.sliding_window_pattern", 0U}}, "gemma2.attention.sliding_window_pattern = 0"},
      {"gemma2", {{"gemma2.attention.sliding_window_pattern", "odd"}}, "gemma2.attention.sliding_window_pattern"},
      {"gemma3", {{"gemma3.rope.freq_base_swa", 0.0F}}, "gemma3.rope.freq_base_swa = 0"},
      {"phi3", {}, "tensor blk.0.attn_qkv.weight: missing"},
      {"olmo2", {}, "tensor blk.0.post_attention_norm.weight: missing"},
      {"smollm3", {{"smollm3.attention.sliding_window", 8U}}, "smollm3.attention.sliding_window = 8"},
      {"qwen3moe", {}, "qwen3moe.expert_count"},
      {"olmoe", {{"olmoe.expert_count", 4U}}, "olmoe.expert_used_count"},
      {"qwen2moe", {{"qwen2moe.expert_count", 4U}, {"qwen2moe.expert_used_count", 2U}}, "blk.0.ffn_gate_inp.weight"},
      {"gpt-oss",
       {{"gpt-oss.expert_count", 4U}, {"gpt-oss.expert_used_count", 2U}},
       "blk.0.post_attention_norm.weight"},
      {"deepseek2", {}, "deepseek2.attention.head_count_kv = 2: must be 4"},
      {"deepseek2", {{"deepseek2.attention.head_count_kv", 4U}}, "deepseek2.attention.kv_lora_rank"},
      {"deepseek2",
       {{"deepseek2.attention.key_length_mla", 8U},
        {"deepseek2.attention.value_length_mla", 8U},
        {"deepseek2.attention.head_count_kv", 1U},
        {"deepseek2.attention.kv_lora_rank", 16U},
        {"deepseek2.rope.dimension_count", 8U}},
       "deepseek2.rope.dimension_count = 8: must be between 2 and 7"},
      {"falcon-h1", {{"falcon-h1.attention.head_count_kv", 3U}}, "falcon-h1.attention.head_count_kv = 3"},
      {"falcon-h1", {}, "falcon-h1.ssm.inner_size"},
      {"granitehybrid", {{"granitehybrid.residual_scale", 0.0F}}, "granitehybrid.residual_scale = 0"},
      {"granitehybrid", {{"granitehybrid.attention.head_count_kv", 5U}}, "granitehybrid.attention.head_count_kv = 5"},
      {"qwen3next", {{"qwen3next.full_attention_interval", 0U}}, "qwen3next.full_attention_interval = 0"},
      {"qwen3next", {{"qwen3next.attention.recurrent_layers", 3U}}, "qwen3next.attention.recurrent_layers = u32 3"},
  };
  for (const Case& c : cases) {
    TinyLlama model;
    model.rename(c.architecture);
    for (const auto& [key, value] : c.keys) model.keys[key] = value;
    expect_refusal(model, c.culprit);
  }
}

TEST(RefusedModels, EverySizeOfARecurrentMixerIsChecked) {
  TinyLlama good;
  good.rename("mamba2");
  const std::pair<const char*, std::uint32_t> sizes[] = {
      {"inner_size", 64}, {"time_step_rank", 4}, {"group_count", 2}, {"state_size", 8}, {"conv_kernel", 4}};
  for (const auto& [key, value] : sizes) good.keys[std::string("mamba2.ssm.") + key] = value;
  expect_refusal(good, "tensor blk.0.ssm_in.weight: missing");
  const std::pair<const char*, std::vector<std::uint32_t>> bad[] = {{"inner_size", {0, 62, 4294967295U}},
                                                                    {"time_step_rank", {0, 3, 65, 4294967295U}},
                                                                    {"group_count", {0, 3, 5, 4294967295U}},
                                                                    {"state_size", {0, 4097, 4294967295U}},
                                                                    {"conv_kernel", {0, 1, 65, 4294967295U}}};
  for (const auto& [key, values] : bad) {
    const std::string name = std::string("mamba2.ssm.") + key;
    TinyLlama missing = good;
    missing.keys.erase(name);
    expect_refusal(missing, name);
    for (const std::uint32_t value : values) {
      TinyLlama model = good;
      model.keys[name] = value;
      expect_refusal(model, "mamba2.ssm.");
    }
  }
}

}  // namespace
}  // namespace plm
