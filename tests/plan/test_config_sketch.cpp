#include "plan/config_sketch.h"

#include <gtest/gtest.h>

#include "plan/parameter_counting.h"
#include "plan/sequence_memory.h"

namespace plm {
namespace {

struct Case {
  const char* name;
  const char* config;
  std::uint64_t parameters;
};

// Parameters of the classes of transformers 5.24 made from these settings, without weights. An encoder's class is the
// one that gives hidden states.
constexpr Case kCases[] = {
    {"llama",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "tie_word_embeddings": false, "model_type":
"llama"})",
     350016},
    {"llama_bias",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "attention_bias": true, "mlp_bias": true,
"head_dim": 32, "tie_word_embeddings": true, "model_type": "llama"})",
     363584},
    {"qwen2",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "tie_word_embeddings": false, "model_type":
"qwen2"})",
     350784},
    {"qwen3",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "head_dim": 32, "tie_word_embeddings": true,
"model_type": "qwen3"})",
     360128},
    {"qwen3_moe",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "head_dim": 16, "num_experts": 8, "intermediate_size": 128,
 "max_position_embeddings": 512, "num_experts_per_tok": 2, "moe_intermediate_size":
48, "decoder_sparse_step": 1, "mlp_only_layers": [1], "tie_word_embeddings": false, "model_type": "qwen3_moe"})",
     598528},
    {"qwen2_moe",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "num_experts": 8, "num_experts_per_tok": 2,
"moe_intermediate_size": 48, "shared_expert_intermediate_size": 96, "decoder_sparse_step": 1,
"tie_word_embeddings": false, "model_type": "qwen2_moe"})",
     759744},
    {"mixtral",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "num_local_experts": 4, "num_experts_per_tok": 2,
"tie_word_embeddings": false, "model_type": "mixtral"})",
     793920},
    {"gemma2",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "head_dim": 32, "sliding_window": 16, "model_type":
"gemma2"})",
     360512},
    {"gemma3_text",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "head_dim": 32, "sliding_window": 16, "model_type":
"gemma3_text"})",
     360896},
    {"gpt_oss",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "head_dim": 16, "num_local_experts": 4,
"num_experts_per_tok": 2, "sliding_window": 16, "tie_word_embeddings": false, "model_type": "gpt_oss"})",
     802800},
    {"phi3",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "tie_word_embeddings": false, "model_type": "phi3"})",
     350016},
    {"mistral",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "tie_word_embeddings": false, "sliding_window": 16,
"model_type": "mistral"})",
     350016},
    {"olmo2",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "tie_word_embeddings": false, "model_type":
"olmo2"})",
     350592},
    {"olmoe",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "num_experts": 8, "num_experts_per_tok": 2,
"tie_word_embeddings": false, "model_type": "olmoe"})",
     1385856},
    {"smollm3",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "model_type": "smollm3"})",
     286016},
    {"deepseek_v3",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
4, "intermediate_size": 128, "max_position_embeddings": 512, "q_lora_rank": 24, "kv_lora_rank": 32,
"qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "n_routed_experts": 8, "num_experts_per_tok":
2, "moe_intermediate_size": 48, "n_shared_experts": 1, "first_k_dense_replace": 1, "n_group": 1, "topk_group":
1, "tie_word_embeddings": false, "model_type": "deepseek_v3"})",
     658576},
    {"deepseek_v2",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
4, "intermediate_size": 128, "max_position_embeddings": 512, "q_lora_rank": null, "kv_lora_rank": 32,
"qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "n_routed_experts": 8, "num_experts_per_tok":
2, "moe_intermediate_size": 48, "n_shared_experts": 2, "first_k_dense_replace": 1, "tie_word_embeddings": false,
"model_type": "deepseek_v2"})",
     718336},
    {"qwen3_next",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "head_dim": 32, "linear_num_value_heads": 4,
"linear_num_key_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48, "shared_expert_intermediate_size": 48,
"tie_word_embeddings": false, "model_type": "qwen3_next"})",
     749944},
    {"mamba2",
     R"({"vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 6, "num_heads": 8, "head_dim": 16, "expand": 2,
"state_size": 16, "n_groups": 2, "conv_kernel": 4, "tie_word_embeddings": false, "model_type": "mamba2"})",
     310224},
    {"falcon_h1",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "mamba_d_ssm": 96, "mamba_n_heads": 6,
"mamba_d_head": 16, "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4, "tie_word_embeddings": false,
"model_type": "falcon_h1"})",
     479148},
    {"granitemoehybrid",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 128, "max_position_embeddings": 512, "layer_types": ["mamba", "attention", "mamba",
"attention", "mamba", "attention"], "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_n_groups": 1,
"mamba_d_state": 16, "mamba_d_conv": 4, "num_local_experts": 4, "num_experts_per_tok": 2,
"shared_intermediate_size": 96, "tie_word_embeddings": false, "model_type": "granitemoehybrid"})",
     951912},
    {"nemotron_h",
     R"({"vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 6,
"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size":
128, "max_position_embeddings": 512, "head_dim": 16, "layers_block_type": ["mamba", "moe", "attention", "moe",
"mamba", "mlp"], "mamba_num_heads": 8, "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 16, "conv_kernel":
4, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
"moe_shared_expert_intermediate_size": 96, "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
"tie_word_embeddings": false, "model_type": "nemotron_h"})",
     341616},
    {"lfm2",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 96, "max_position_embeddings": 512, "full_attn_idxs": [2, 5], "conv_L_cache": 3,
"block_auto_adjust_ff_dim": true,
"block_multiple_of": 32, "model_type": "lfm2"})",
     229504},
    {"bert",
     R"({"vocab_size": 1000, "hidden_size": 64, "type_vocab_size": 2,
"num_hidden_layers": 6, "num_attention_heads": 4, "intermediate_size":
128, "max_position_embeddings": 512, "model_type": "bert"})",
     302016},
    {"modernbert",
     R"({"vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "intermediate_size":
128, "max_position_embeddings": 512, "local_attention": 16, "model_type": "modernbert"})",
     310592},
    {"llama4_text",
     R"({"vocab_size": 1000,
"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads":
2, "intermediate_size": 48, "max_position_embeddings": 512, "head_dim": 16, "num_local_experts": 4,
"intermediate_size_mlp": 128, "interleave_moe_layer_step": 1, "tie_word_embeddings": false, "model_type":
"llama4_text"})",
     480576},
    {"falcon",
     R"({"vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4,
"max_position_embeddings": 512, "multi_query": true, "new_decoder_architecture": false, "parallel_attn": true,
"bias": false, "model_type": "falcon"})",
     322944},
};

ConfigReader config_of(std::string_view text) { return ConfigReader::parse(text, "config.json").value(); }

TEST(ConfigSketch, ParametersAreThoseOfTheClasses) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    const auto sketch = sketch_of_config(config_of(one.config));
    ASSERT_TRUE(sketch.has_value()) << sketch.error().message;
    const auto counts = count_parameters(*sketch);
    ASSERT_TRUE(counts.has_value()) << counts.error().message;
    EXPECT_EQ(counts->stored, one.parameters);
  }
}

ModelSketch sketch_named(std::string_view name) {
  for (const Case& one : kCases) {
    if (one.name == name) return sketch_of_config(config_of(one.config)).value();
  }
  return {};
}

std::uint64_t windowed_layers(const ModelSketch& sketch) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < sketch.layers.size(); ++i) {
    const auto* attention = std::get_if<AttentionMixer>(&sketch.layer(i).mixers.front());
    if (attention != nullptr && attention->window > 0) ++count;
  }
  return count;
}

TEST(ConfigSketch, WindowsAreWhereTheFamilyHasThem) {
  EXPECT_EQ(windowed_layers(sketch_named("gemma2")), 3U);
  EXPECT_EQ(windowed_layers(sketch_named("gemma3_text")), 5U);
  EXPECT_EQ(windowed_layers(sketch_named("gpt_oss")), 3U);
  EXPECT_EQ(windowed_layers(sketch_named("mistral")), 6U);
  EXPECT_EQ(windowed_layers(sketch_named("modernbert")), 4U);
  EXPECT_EQ(windowed_layers(sketch_named("llama")), 0U);
  EXPECT_EQ(std::get<AttentionMixer>(sketch_named("modernbert").layer(1).mixers.front()).window, 17U);
}

TEST(ConfigSketch, RecurrentLayersKeepWhatTheyKeep) {
  // One layer in four grows: 2 heads of 32, two numbers of f16 each for key and value.
  EXPECT_EQ(bytes_of_next_thousand(sketch_named("qwen3_next"), 100, {}).value(), 1000U * 2 * 32 * 2 * 2);
  EXPECT_EQ(bytes_of_next_thousand(sketch_named("mamba2"), 100, {}).value(), 0U);
  EXPECT_FALSE(sketch_named("bert").is_causal);
  EXPECT_EQ(sequence_bytes(sketch_named("bert"), 100, {})->total(), 0U);
}

TEST(ConfigSketch, FindsTheTextPartOfAModelThatAlsoSees) {
  const std::string config =
      fmt::format(R"({{"model_type": "x", "vision_config": {{}}, "text_config": {}}})", kCases[0].config);
  const auto sketch = sketch_of_config(config_of(config));
  ASSERT_TRUE(sketch.has_value()) << sketch.error().message;
  EXPECT_EQ(count_parameters(*sketch)->stored, kCases[0].parameters);
}

TEST(ConfigSketch, SettingsThatAreMissingOrWrongAreErrors) {
  const auto message = [](std::string_view text) {
    const auto sketch = sketch_of_config(config_of(text));
    EXPECT_FALSE(sketch.has_value()) << text;
    return sketch.has_value() ? "" : sketch.error().message;
  };
  EXPECT_NE(message("{}").find("vocab_size"), std::string::npos);
  EXPECT_NE(message(R"({"vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 100000, "num_attention_heads": 2})")
                .find("num_hidden_layers"),
            std::string::npos);
  EXPECT_NE(message(R"({"vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
                        "layer_types": ["full_attention", "telepathy"]})")
                .find("layer_types"),
            std::string::npos);
}

TEST(ConfigSketch, LimitsOfPositions) {
  const auto plain = context_of_config(config_of(R"({"max_position_embeddings": 4096})"));
  EXPECT_EQ(plain->positional, 4096U);
  EXPECT_EQ(plain->trained, 4096U);
  const auto stretched = context_of_config(
      config_of(R"({"max_position_embeddings": 131072, "rope_scaling": {"original_max_position_embeddings": 8192}})"));
  EXPECT_EQ(stretched->positional, 131072U);
  EXPECT_EQ(stretched->trained, 8192U);
}

}  // namespace
}  // namespace plm
