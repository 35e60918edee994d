// Families whose folders no converter of others was run on: the GGUF file of an oracle is written as the folder that it
// was made from, by names that stand here once more, and must come back with the same bits.
#include "model/layers/dense_form.h"

#include <gtest/gtest.h>

#include "checkpoint_folder.h"
#include "model/checkpoint.h"
#include "oracle_numbers.h"
#include "single_sequence.h"

namespace plm {
namespace {

using Config = std::map<std::string, std::string>;
using Names = std::map<std::string, std::string>;  // of a layer's tensors: GGUF's to transformers'

struct Case {
  const char* gguf;
  Config config;
  Names names;
  bool in_pairs = false;    ///< GGUF has the rows of query and key heads in pairs
  std::size_t context = 0;  ///< configured; 0: the trained one
};

const Config kSizes = {{"hidden_size", "64"},          {"intermediate_size", "96"},        {"num_attention_heads", "4"},
                       {"num_key_value_heads", "2"},   {"max_position_embeddings", "512"}, {"vocab_size", "320"},
                       {"tie_word_embeddings", "true"}};

Config with(Config more) {
  more.insert(kSizes.begin(), kSizes.end());
  return more;
}

const Names kBefore = {{"attn_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"}};
const Names kAfter = {{"post_attention_norm", "post_attention_layernorm"},
                      {"post_ffw_norm", "post_feedforward_layernorm"},
                      {"attn_q_norm", "self_attn.q_norm"},
                      {"attn_k_norm", "self_attn.k_norm"}};
const Names kFused = {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}};
const Names kAll = {{"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"}, {"attn_v", "self_attn.v_proj"},
                    {"attn_output", "self_attn.o_proj"}, {"ffn_gate", "mlp.gate_proj"},  {"ffn_up", "mlp.up_proj"},
                    {"ffn_down", "mlp.down_proj"}};

Names joined(std::initializer_list<Names> parts) {
  Names all;
  for (const Names& part : parts) all.insert(part.begin(), part.end());
  return all;
}

const Case kCases[] = {
    {"smollm3-bf16.gguf",
     with({{"architectures", "[\"SmolLM3ForCausalLM\"]"},
           {"model_type", "\"smollm3\""},
           {"num_hidden_layers", "5"},
           {"no_rope_layers", "[1, 1, 1, 0, 1]"}}),
     joined({kBefore, kAll}), true},
    {"olmo2-bf16.gguf",
     with({{"architectures", "[\"Olmo2ForCausalLM\"]"}, {"model_type", "\"olmo2\""}, {"num_hidden_layers", "2"}}),
     joined({kAfter, kAll})},
    {"olmo3-bf16.gguf",
     with({{"architectures", "[\"Olmo3ForCausalLM\"]"},
           {"model_type", "\"olmo3\""},
           {"num_hidden_layers", "4"},
           {"sliding_window", "8"},
           {"layer_types",
            "[\"sliding_attention\", \"sliding_attention\", \"sliding_attention\", \"full_attention\"]"}}),
     joined({kAfter, kAll})},
    {"phi3_partial-bf16.gguf",
     with({{"architectures", "[\"Phi3ForCausalLM\"]"},
           {"model_type", "\"phi3\""},
           {"num_hidden_layers", "2"},
           {"partial_rotary_factor", "0.5"},
           {"sliding_window", "null"}}),
     joined({kBefore, kFused, kAll})},
    {"llama_rope_dynamic-bf16.gguf",
     with({{"architectures", "[\"LlamaForCausalLM\"]"},
           {"model_type", "\"llama\""},
           {"num_hidden_layers", "2"},
           {"max_position_embeddings", "32"},
           {"rope_parameters", "{\"rope_type\": \"dynamic\", \"rope_theta\": 10000.0, \"factor\": 4.0}"}}),
     joined({kBefore, kAll}), true, 40},
};

// Rows 2i + h of a head go to row i of its half h.
std::vector<float> halves(const std::vector<float>& values, std::size_t heads, std::size_t columns) {
  const std::size_t size = values.size() / columns / heads;
  std::vector<float> out(values.size());
  for (std::size_t row = 0; row < heads * size; ++row) {
    const std::size_t within = row % size, to = row / size * size + within % 2 * (size / 2) + within / 2;
    std::copy_n(values.begin() + row * columns, columns, out.begin() + to * columns);
  }
  return out;
}

void write_folder(const Case& one, const GgufFile& file, CheckpointFolder& folder) {
  folder.config = one.config;
  const std::string arch(file.string_value("general.architecture").value());
  folder.config["rms_norm_eps"] =
      fmt::format("{:.9g}", file.real_value(arch + ".attention.layer_norm_rms_epsilon").value());
  if (!folder.config.contains("rope_parameters")) {
    folder.config["rope_theta"] = fmt::format("{:.1f}", file.real_value(arch + ".rope.freq_base").value());
  }
  if (file.find_tensor("output.weight") != nullptr) folder.config["tie_word_embeddings"] = "false";
  folder.tensors.clear();
  for (const TensorEntry& entry : file.tensors()) {
    std::string name(entry.name), heads;
    if (name.starts_with("blk.")) {
      const std::size_t dot = name.find('.', 4);
      const std::string part = name.substr(dot + 1, name.size() - dot - 1 - std::string(".weight").size());
      if (one.in_pairs && (part == "attn_q" || part == "attn_k")) heads = part;
      name = "model.layers." + name.substr(4, dot - 4) + "." + one.names.at(part) + ".weight";
    } else {
      name = name == "token_embd.weight"    ? "model.embed_tokens.weight"
             : name == "output_norm.weight" ? "model.norm.weight"
                                            : "lm_head.weight";
    }
    std::vector<float> values(entry.element_count());
    const StorageType* type = find_storage_type(entry.type->id);
    type->unpack(entry.bytes.data(), values.data(), values.size() / type->block_size);
    if (!heads.empty()) values = halves(values, heads == "attn_q" ? 4 : 2, entry.dims[0]);
    const auto shape = entry.shape();
    folder.tensors[name] = {{shape.rbegin(), shape.rend()}, "F32", std::move(values)};
  }
  folder.write();
}

class DenseForm : public testing::TestWithParam<Case> {};

TEST_P(DenseForm, AFolderGivesTheBitsOfItsFile) {
  const std::string path = std::string(PLM_GOLDEN) + "/oracle/" + GetParam().gguf;
  CheckpointFolder folder;
  write_folder(GetParam(), *GgufFile::open(path).value(), folder);
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 32; ++i) tokens.push_back(4 + i * 7 % 300);
  const auto logits = [&](std::shared_ptr<const GgufFile> file) {
    SingleSequence sequence(make_cpu_device({.threads = 1}));
    sequence.load(std::move(file), {.context = GetParam().context});
    return flat(sequence.append(tokens));
  };
  const auto opened = open_checkpoint(folder.path());
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const auto expected = logits(GgufFile::open(path).value()), found = logits(*opened);
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
      << "by " << largest_difference(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Families, DenseForm, testing::ValuesIn(kCases), [](const auto& instance) {
  const std::string name(instance.param.gguf);
  return name.substr(0, name.find('-'));
});

TEST(DenseForm, RefusesWhatAFamilyDoesNotDo) {
  const auto refused = [](const std::string& name, const std::string& type, const Config& more) {
    CheckpointFolder folder;
    folder.config["architectures"] = "[\"" + name + "\"]";
    folder.config["model_type"] = "\"" + type + "\"";
    for (const auto& [key, value] : more) folder.config[key] = value;
    folder.write();
    const auto file = open_checkpoint(folder.path());
    return file.has_value() ? std::string("accepted") : file.error().message;
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(refused("Qwen2ForCausalLM", "qwen2", {}), "accepted");
  expect(refused("Qwen2ForCausalLM", "qwen2", {{"use_sliding_window", "true"}, {"max_window_layers", "1"}}),
         "use_sliding_window = true");
  EXPECT_EQ(refused("Qwen2ForCausalLM", "qwen2", {{"use_sliding_window", "true"}, {"max_window_layers", "2"}}),
            "accepted")
      << "no layer is left for it";
  expect(refused("Qwen2ForCausalLM", "qwen2", {{"partial_rotary_factor", "0.5"}}), "partial_rotary_factor = 0.5");
  expect(refused("Phi3ForCausalLM", "phi3", {{"partial_rotary_factor", "0.01"}}), "partial_rotary_factor = 0.01");
  expect(refused("Phi3ForCausalLM", "phi3",
                 {{"rope_scaling", "{\"type\": \"longrope\", \"long_factor\": [1, 2], \"short_factor\": [1]}"}}),
         "rope_scaling.long_factor = [1,2]: must be 4 numbers");
  expect(refused("SmolLM3ForCausalLM", "smollm3", {{"no_rope_layer_interval", "3"}}), "no_rope_layer_interval = 3");
  expect(refused("SmolLM3ForCausalLM", "smollm3", {{"no_rope_layers", "[0, 1]"}}), "no_rope_layers = [0,1]");
  expect(refused("Gemma2ForCausalLM", "gemma2", {}), "attn_logit_softcapping is missing");
  expect(refused("Gemma3ForCausalLM", "gemma3_text", {}), "head_dim is missing");
  expect(
      refused(
          "Gemma3ForCausalLM", "gemma3_text",
          {{"head_dim", "8"}, {"sliding_window", "8"}, {"layer_types", "[\"full_attention\", \"linear_attention\"]"}}),
      "layer_types = [\"full_attention\",\"linear_attention\"]");
  expect(refused("Olmo3ForCausalLM", "olmo3", {}), "sliding_window is missing");
}

}  // namespace
}  // namespace plm
