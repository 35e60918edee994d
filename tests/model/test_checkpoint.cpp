// Hugging Face folders as GGUF: the same keys, values and tensor bytes as llama.cpp's converter wrote from the same
// folder, the same logits as transformers computed from it, and what is refused.
#include "model/checkpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/half.h"
#include "checkpoint_folder.h"
#include "format/safetensors.h"
#include "single_sequence.h"

namespace plm {
namespace {

struct Fixture {
  const char* name;
  const char* gguf;    // what llama.cpp made of it; null: it was not kept
  float rounding = 0;  // of numbers that are computed and not copied, as a share
};

std::vector<float> numbers(const GgufFile& file, const TensorEntry& tensor) {
  const TensorBytes data = file.read(tensor).value();
  std::vector<float> values(tensor.element_count());
  const StorageType* type = find_storage_type(tensor.type->id);
  type->unpack(data.bytes.data(), values.data(), values.size() / type->block_size);
  return values;
}

// A matrix of one row is a vector.
std::vector<std::uint64_t> without_ones(std::span<const std::uint64_t> shape) {
  std::vector<std::uint64_t> rest(shape.begin(), shape.end());
  while (rest.size() > 1 && rest.back() == 1) rest.pop_back();
  return rest;
}

class CheckpointFixture : public testing::TestWithParam<Fixture> {
 protected:
  // Some are too large for this repository, and tested where the conformance data are at hand.
  void SetUp() override {
    if (!std::filesystem::exists(folder())) GTEST_SKIP() << "no " << folder();
  }
  static std::string shared() { return std::string(PLM_SHARED) + "/conformance/oracle/"; }
  // The first of two that is there, or the second.
  static std::string either(std::string own, std::string other) { return std::filesystem::exists(own) ? own : other; }
  static std::string folder() {
    return either(std::string(PLM_GOLDEN) + "/huggingface/" + GetParam().name,
                  shared() + "fixtures/" + GetParam().name);
  }
  static std::shared_ptr<const GgufFile> converted() {
    return GgufFile::open(
               either(std::string(PLM_GOLDEN) + "/oracle/" + GetParam().gguf, shared() + "gguf/" + GetParam().gguf))
        .value();
  }
  static std::shared_ptr<const SafetensorsFile> golden() {
    return SafetensorsFile::open(either(std::string(PLM_GOLDEN) + "/oracle/" + GetParam().name + ".golden.safetensors",
                                        shared() + "fixtures/" + GetParam().name + "/golden.safetensors"))
        .value();
  }
};

TEST_P(CheckpointFixture, HasTheKeysOfTheConverter) {
  if (GetParam().gguf == nullptr) return;
  const auto ours = open_checkpoint(folder());
  ASSERT_TRUE(ours) << ours.error().message;
  const auto theirs = converted();
  for (const MetaEntry& entry : theirs->metadata()) {
    // The name is the folder's, the type may be another, the tokeniser is handed on as text.
    if (entry.key == "general.name" || entry.key == "general.file_type") continue;
    if (entry.key.starts_with("tokenizer.")) continue;
    const MetaValue* value = (*ours)->find(entry.key);
    ASSERT_NE(value, nullptr) << entry.key;
    EXPECT_EQ(value->type(), entry.value.type()) << entry.key;
    EXPECT_TRUE(std::ranges::equal(value->bytes(), entry.value.bytes()))
        << entry.key << ": " << value->described() << ", expected " << entry.value.described();
  }
}

TEST_P(CheckpointFixture, HasTheTensorsOfTheConverter) {
  if (GetParam().gguf == nullptr) return;
  const auto ours = open_checkpoint(folder()).value();
  const auto theirs = converted();
  EXPECT_EQ(ours->tensors().size(), theirs->tensors().size());
  for (const TensorEntry& expected : theirs->tensors()) {
    const TensorEntry* tensor = ours->find_tensor(expected.name);
    ASSERT_NE(tensor, nullptr) << expected.name;
    EXPECT_EQ(without_ones(tensor->shape()), without_ones(expected.shape())) << expected.name;
    const auto values = numbers(*ours, *tensor), reference = numbers(*theirs, expected);
    if (GetParam().rounding > 0) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], reference[i], GetParam().rounding * std::abs(reference[i])) << expected.name;
      }
      continue;
    }
    EXPECT_EQ(std::memcmp(values.data(), reference.data(), values.size() * sizeof(float)), 0) << expected.name;
    if (tensor->type == expected.type) {
      EXPECT_TRUE(std::ranges::equal(ours->read(*tensor)->bytes, expected.bytes)) << expected.name;
    }
  }
}

TEST_P(CheckpointFixture, ComputesTheLogitsOfTransformers) {
  const auto oracle = golden();
  if (oracle->find("logits") == nullptr) return;  // an encoder: tests/model/test_encoders.cpp
  const auto tokens = oracle->find("input_ids")->bytes;
  std::vector<std::int32_t> ids(tokens.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), tokens.data(), tokens.size());
  for (const KernelChoice kernels : {KernelChoice::fast, KernelChoice::reference}) {
    SingleSequence sequence(open_checkpoint(folder()).value(), {.threads = 1, .kernels = kernels});
    const auto rows = sequence.append(ids);
    const auto expected = oracle->find("logits")->bytes;
    std::size_t at = 0;
    for (const auto& row : rows) {
      for (const float logit : row) {
        float reference = 0;
        std::memcpy(&reference, expected.data() + at, sizeof reference);
        at += sizeof reference;
        ASSERT_NEAR(logit, reference, 1e-4F);
      }
    }
    EXPECT_EQ(at, expected.size());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Oracle, CheckpointFixture,
    testing::Values(
        Fixture{"qwen2", "qwen2-bf16.gguf"}, Fixture{"qwen3", "qwen3-f32.gguf"}, Fixture{"gemma2", "gemma2-bf16.gguf"},
        Fixture{"gemma3_text", "gemma3_text-f32.gguf"}, Fixture{"phi3", "phi3-bf16.gguf"},
        Fixture{"phi3_longrope", "phi3_longrope-bf16.gguf"}, Fixture{"bert", "bert-f32.gguf"},
        Fixture{"xlmr_reranker", "xlmr_reranker-bf16.gguf"}, Fixture{"modernbert", "modernbert-bf16.gguf"},
        Fixture{"llama", "llama-f32.gguf"}, Fixture{"llama_rope_linear", "llama_rope_linear-bf16.gguf"},
        Fixture{"llama_rope_llama3", "llama_rope_llama3-f32.gguf"},
        Fixture{"llama_rope_yarn", "llama_rope_yarn-bf16.gguf"},
        Fixture{"llama_tied_mqa_hd", "llama_tied_mqa_hd-bf16.gguf"}, Fixture{"mixtral", "mixtral-bf16.gguf"},
        Fixture{"mistral_swa", "mistral_swa-bf16.gguf"}, Fixture{"llama_q256", nullptr},
        Fixture{"qwen3_moe", "qwen3_moe-bf16.gguf"}, Fixture{"gpt_oss", "gpt_oss-bf16.gguf"},
        Fixture{"gpt_oss_notrunc", "gpt_oss-bf16.gguf"}, Fixture{"deepseek_v2", "deepseek_v2-bf16.gguf"},
        Fixture{"deepseek_v2_lite", "deepseek_v2_lite-bf16.gguf"}, Fixture{"deepseek_v3", "deepseek_v3-bf16.gguf"},
        Fixture{"mamba2", "mamba2-bf16.gguf", 2e-7F}, Fixture{"falcon_h1", "falcon_h1-f32.gguf", 2e-7F},
        Fixture{"granite_hybrid", "granite_hybrid-bf16.gguf", 2e-7F},
        Fixture{"qwen3_next", "qwen3_next-bf16.gguf", 2e-7F}),
    [](const auto& instance) { return std::string(instance.param.name); });

std::string refusal(const CheckpointFolder& folder, CheckpointUse use = CheckpointUse::model) {
  const auto file = open_checkpoint(folder.path(), use);
  if (file) return "accepted";
  EXPECT_EQ(file.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(file.error().message.find(folder.path()), 0U) << file.error().message;
  return file.error().message.substr(folder.path().size());
}

#define EXPECT_NAMES(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

// The same weights without the "model." in front, as the inner network is saved, and with a tensor that stands twice.
TEST(Checkpoint, ReadsTheInnerNetworkAlone) {
  CheckpointFolder folder;
  folder.config["architectures"] = "[\"Qwen2ForCausalLM\"]";
  folder.config["model_type"] = "\"qwen2\"";
  std::map<std::string, CheckpointFolder::Tensor> bare;
  for (const auto& [name, tensor] : folder.tensors) bare[name.substr(std::string("model.").size())] = tensor;
  folder.write();
  const auto whole = open_checkpoint(folder.path()).value();
  folder.tensors = bare;
  folder.write();
  const auto inner = open_checkpoint(folder.path()).value();
  ASSERT_EQ(inner->tensors().size(), whole->tensors().size());
  for (const TensorEntry& tensor : whole->tensors()) EXPECT_NE(inner->find_tensor(tensor.name), nullptr) << tensor.name;
  EXPECT_TRUE(inner->warnings().empty());
  folder.tensors["model.norm.weight"] = {{16}};
  folder.write();
  EXPECT_NAMES(refusal(folder), "a second one that would be output_norm.weight");
}

// transformers: attention_factor stands in the place of 0.1 ln(factor) + 1, on which GGUF's factor comes on top.
TEST(Checkpoint, YarnsFactorIsThatOfTransformers) {
  const auto factor = [](const std::string& more) {
    CheckpointFolder folder;
    folder.config["rope_scaling"] = "{\"rope_type\": \"yarn\", \"factor\": 4.0" + more + "}";
    folder.write();
    const auto file = open_checkpoint(folder.path()).value();
    return file->find("llama.rope.scaling.yarn_attn_factor") == nullptr
               ? 1.0
               : file->real_value("llama.rope.scaling.yarn_attn_factor").value();
  };
  const double standard = 0.1 * std::log(4.0) + 1;
  EXPECT_EQ(factor(""), 1.0);
  EXPECT_NEAR(factor(", \"attention_factor\": 1.5"), 1.5 / standard, 1e-6);
  EXPECT_NEAR(factor(", \"mscale\": 2.0, \"mscale_all_dim\": 1.0"), (0.2 * std::log(4.0) + 1) / standard / standard,
              1e-6);
  EXPECT_NEAR(factor(", \"mscale\": 2.0"), 1.0, 1e-6);
}

TEST(Checkpoint, TensorsStayInTheMapUnlessTheirValuesMove) {
  const CheckpointFolder folder;
  const auto file = open_checkpoint(folder.path()).value();
  const TensorEntry* moved = file->find_tensor("blk.1.attn_q.weight");
  ASSERT_NE(moved, nullptr);
  EXPECT_TRUE(moved->bytes.empty());
  EXPECT_EQ(file->read(*moved)->bytes.size(), moved->byte_count());
  const TensorEntry* kept = file->find_tensor("blk.1.attn_v.weight");
  EXPECT_EQ(kept->bytes.size(), kept->byte_count());
  EXPECT_EQ(file->parts()[kept->part].name, folder.path() + "/model.safetensors");
  EXPECT_EQ(file->read(*kept)->bytes.data(), kept->bytes.data());
  EXPECT_EQ(file->find_tensor("blk.0.attn_norm.weight")->type->name, "F32");
  EXPECT_EQ(file->find_tensor("blk.0.attn_q.weight")->type->name, "BF16");
}

// What is not in the head's rows 0 1 2 3 but 0 2 1 3: each row holds its own number here.
TEST(Checkpoint, BringsTheRowsOfAHeadFromHalvesToPairs) {
  CheckpointFolder folder;
  std::vector<float> rows(16 * 16);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i / 16);
  folder.tensors["model.layers.0.self_attn.q_proj.weight"].values = rows;
  folder.write();
  const auto file = open_checkpoint(folder.path()).value();
  const auto values = numbers(*file, *file->find_tensor("blk.0.attn_q.weight"));
  std::vector<float> first;
  for (std::size_t row = 0; row < 16; ++row) first.push_back(values[row * 16]);
  EXPECT_EQ(first, (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15}));
}

// Mixtral's names: three experts of which w1 is the gate.
CheckpointFolder& make_mixture(CheckpointFolder& folder) {
  folder.config["architectures"] = "[\"MixtralForCausalLM\"]";
  folder.config["model_type"] = "\"mixtral\"";
  folder.config["num_local_experts"] = "3";
  folder.config["num_experts_per_tok"] = "2";
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    for (const char* part : {"gate", "up", "down"}) folder.tensors.erase(layer + "mlp." + part + "_proj.weight");
    const std::string mixture = layer + "block_sparse_moe.";
    folder.tensors[mixture + "gate.weight"] = {{3, 16}};
    for (int e = 0; e < 3; ++e) {
      const std::string expert = mixture + "experts." + std::to_string(e) + ".";
      folder.tensors[expert + "w1.weight"] = {{32, 16}, "BF16", std::vector<float>(512, static_cast<float>(e))};
      folder.tensors[expert + "w3.weight"] = {{32, 16}};
      folder.tensors[expert + "w2.weight"] = {{16, 32}};
    }
  }
  folder.write();
  return folder;
}

TEST(Checkpoint, ExpertsBecomeOneTensor) {
  CheckpointFolder folder;
  const auto file = open_checkpoint(make_mixture(folder).path()).value();
  const TensorEntry* gates = file->find_tensor("blk.1.ffn_gate_exps.weight");
  ASSERT_NE(gates, nullptr);
  EXPECT_EQ(std::vector<std::uint64_t>(gates->shape().begin(), gates->shape().end()),
            (std::vector<std::uint64_t>{16, 32, 3}));
  const auto values = numbers(*file, *gates);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(i / 512));
  EXPECT_EQ(file->find_tensor("blk.0.ffn_gate_inp.weight")->type->name, "F32");
  EXPECT_EQ(file->unsigned_value("llama.expert_used_count").value(), 2U);
}

TEST(Checkpoint, ExpertsMustBeCompleteAndAlike) {
  const std::string experts = "model.layers.0.block_sparse_moe.experts.";
  CheckpointFolder missing;
  make_mixture(missing).tensors.erase(experts + "1.w2.weight");
  missing.write();
  EXPECT_NAMES(refusal(missing), "tensor " + experts + "2.w2.weight: stands where that of expert 1 was expected");
  CheckpointFolder longer;
  make_mixture(longer).tensors[experts + "2.w3.weight"].shape = {32, 24};
  longer.write();
  EXPECT_NAMES(refusal(longer), "tensor " + experts + "2.w3.weight: is BF16 [32, 24], expected BF16 [32, 16]");
  CheckpointFolder deep;
  make_mixture(deep);
  for (const char* expert : {"0", "1", "2"}) deep.tensors[experts + expert + ".w1.weight"].shape = {2, 16, 16};
  deep.write();
  EXPECT_NAMES(refusal(deep), "tensor " + experts + "0.w1.weight: has 3 dimensions, expected 2");
}

// Two experts, whose gate and up have two rows each, by turns: row r of expert e holds bytes of its own.
TEST(Checkpoint, CodesOfMxfp4AreTakenOver) {
  CheckpointFolder folder;
  folder.config["architectures"] = "[\"GptOssForCausalLM\"]";
  folder.config["model_type"] = "\"gpt_oss\"";
  folder.config["num_local_experts"] = "2";
  folder.config["num_experts_per_tok"] = "1";
  folder.config["quantization_config"] = "{\"quant_method\": \"mxfp4\"}";
  const std::string experts = "model.layers.0.mlp.experts.";
  std::vector<float> codes, scales;
  for (std::size_t i = 0; i < 2 * 4 * 16; ++i) codes.push_back(static_cast<float>(i * 37 % 256));
  for (std::size_t i = 0; i < 2 * 4; ++i) scales.push_back(static_cast<float>(125 + i));
  folder.tensors[experts + "gate_up_proj_blocks"] = {{2, 4, 1, 16}, "U8", codes};
  folder.tensors[experts + "gate_up_proj_scales"] = {{2, 4, 1}, "U8", scales};
  folder.tensors[experts + "down_proj_blocks"] = {{2, 4, 1, 16}, "U8", codes};
  folder.tensors[experts + "down_proj_scales"] = {{2, 4, 1}, "U8", scales};
  folder.write();
  const auto file = open_checkpoint(folder.path()).value();
  constexpr std::array<float, 8> kLevels{0, 1, 2, 3, 4, 6, 8, 12};
  const auto expected = [&](std::size_t row, std::size_t i) {
    const auto byte = static_cast<unsigned>(codes[row * 16 + i / 2]);
    const unsigned code = byte >> (i % 2 * 4) & 15U;
    const float level = std::ldexp(kLevels[code % 8], static_cast<int>(scales[row]) - 128);
    return code < 8 ? level : -level;
  };
  for (const auto& [name, first] : {std::pair{"gate", 0U}, std::pair{"up", 1U}, std::pair{"down", 0U}}) {
    const TensorEntry* tensor = file->find_tensor(std::string("blk.0.ffn_") + name + "_exps.weight");
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->type->name, "MXFP4");
    const bool is_down = std::string_view(name) == "down";
    EXPECT_EQ(std::vector<std::uint64_t>(tensor->shape().begin(), tensor->shape().end()),
              (std::vector<std::uint64_t>{32, is_down ? 4U : 2U, 2}));
    const auto values = numbers(*file, *tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t row = is_down ? i / 32 : i / 32 * 2 + first;
      ASSERT_EQ(values[i], expected(row, i % 32)) << name << ", " << i;
    }
  }
  EXPECT_EQ(file->unsigned_value("general.file_type").value(), 38U);
  folder.tensors[experts + "gate_up_proj_scales"].shape = {2, 4};
  folder.write();
  EXPECT_NAMES(refusal(folder), "gate_up_proj_blocks: has no tensor of U8 scales [2, 4, 1]");
  folder.config["quantization_config"] = "{\"quant_method\": \"gptq\"}";
  folder.write();
  EXPECT_NAMES(refusal(folder), "quantization_config");
}

// Every code, in blocks of 3 rows and 10 columns, which do not fill the matrix.
TEST(Checkpoint, EightBitFloatsAreExpandedByTheScalesOfTheirBlocks) {
  CheckpointFolder folder;
  folder.config["quantization_config"] =
      "{\"quant_method\": \"fp8\", \"fmt\": \"e4m3\", \"weight_block_size\": [3, 10]}";
  std::vector<float> codes, scales;
  for (std::size_t i = 0; i < 32 * 16; ++i) codes.push_back(static_cast<float>(i % 256 % 128 == 127 ? 1 : i % 256));
  for (std::size_t i = 0; i < 11 * 2; ++i) scales.push_back(0.25F * static_cast<float>(i + 1));
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  folder.tensors[name] = {{32, 16}, "F8_E4M3", codes};
  folder.tensors[name + "_scale_inv"] = {{11, 2}, "F32", scales};
  folder.write();
  const auto file = open_checkpoint(folder.path()).value();
  EXPECT_TRUE(file->warnings().empty());
  const TensorEntry& tensor = *file->find_tensor("blk.0.ffn_up.weight");
  EXPECT_EQ(tensor.type->name, "BF16");
  const auto values = numbers(*file, tensor);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<int>(codes[i]);
    const int exponent = code / 8 % 16, mantissa = code % 8;
    const double size = exponent == 0 ? mantissa / 512.0 : (1 + mantissa / 8.0) * std::exp2(exponent - 7);
    const double expected = (code < 128 ? size : -size) * scales[i / 16 / 3 * 2 + i % 16 / 10];
    ASSERT_EQ(values[i], float_from_bf16(bf16_from_float(static_cast<float>(expected)))) << i;
  }
  folder.tensors[name + "_scale_inv"].shape = {2, 11};
  folder.write();
  EXPECT_NAMES(refusal(folder), "tensor " + name + ": has no tensor _scale_inv of F32 scales [11, 2]");
  folder.config["quantization_config"] = "{\"quant_method\": \"fp8\"}";
  folder.write();
  EXPECT_NAMES(refusal(folder), "quantization_config.weight_block_size");
  folder.config.erase("quantization_config");
  folder.write();
  EXPECT_NAMES(refusal(folder), "quantization_config");
}

// DeepSeek-V3: such matrices are cut up, put behind one another, and a layer more predicts a second token.
TEST(Checkpoint, EightBitFloatsMayMoveBesides) {
  CheckpointFolder plain, scaled;
  std::vector<float> codes(16 * 16), expanded;
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<float>(0x30 + i % 16);
  for (const float code : codes) {
    const auto bits = static_cast<int>(code);
    expanded.push_back(static_cast<float>((1 + bits % 8 / 8.0) * std::exp2(bits / 8 - 7) * 2));
  }
  const std::string name = "model.layers.1.self_attn.q_proj.weight";  // whose rows are brought to pairs
  plain.tensors[name].values = expanded;
  plain.write();
  scaled.tensors[name] = {{16, 16}, "F8_E4M3", codes};
  scaled.tensors[name + "_scale_inv"] = {{1, 1}, "F32", {2}};
  scaled.tensors["model.layers.2.eh_proj.weight"] = {{16, 16}};
  scaled.tensors["model.layers.2.input_layernorm.weight"] = {{16}};
  scaled.config["num_nextn_predict_layers"] = "1";
  scaled.config["quantization_config"] = "{\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]}";
  scaled.write();
  const auto expected = open_checkpoint(plain.path()).value(), found = open_checkpoint(scaled.path()).value();
  EXPECT_TRUE(found->warnings().empty());
  ASSERT_EQ(found->tensors().size(), expected->tensors().size());
  for (const TensorEntry& tensor : expected->tensors()) {
    EXPECT_EQ(numbers(*found, *found->find_tensor(tensor.name)), numbers(*expected, tensor)) << tensor.name;
  }
  std::map<std::string, CheckpointFolder::Tensor> experts;
  make_mixture(scaled);
  for (auto& [tensor, entry] : scaled.tensors) {
    if (tensor.find(".w1.") != std::string::npos) entry = {{32, 16}, "F8_E4M3", std::vector<float>(512, 0x38)};
    if (tensor.find(".w1.") != std::string::npos) experts[tensor + "_scale_inv"] = {{1, 1}, "F32", {3}};
  }
  scaled.tensors.merge(experts);
  scaled.write();
  const auto mixture = open_checkpoint(scaled.path()).value();
  for (const float value : numbers(*mixture, *mixture->find_tensor("blk.0.ffn_gate_exps.weight"))) {
    ASSERT_EQ(value, 3.0F);
  }
}

TEST(Checkpoint, ReadsShardsAsOneFile) {
  CheckpointFolder whole, cut;
  cut.write_shards(3);
  const auto one = open_checkpoint(whole.path()).value(), many = open_checkpoint(cut.path()).value();
  EXPECT_EQ(many->parts().size(), 4U);
  ASSERT_EQ(one->tensors().size(), many->tensors().size());
  for (std::size_t i = 0; i < one->tensors().size(); ++i) {
    EXPECT_EQ(one->tensors()[i].name, many->tensors()[i].name);
    EXPECT_EQ(numbers(*one, one->tensors()[i]), numbers(*many, many->tensors()[i]));
  }
}

TEST(Checkpoint, RefusesWhatItCannotTranslate) {
  CheckpointFolder folder;
  const auto with = [&](const char* key, const char* value) {
    CheckpointFolder changed;
    changed.config[key] = value;
    changed.write();
    return refusal(changed);
  };
  EXPECT_EQ(refusal(folder), "accepted");
  EXPECT_NAMES(with("num_hidden_layers", "\"2\""), "/config.json: num_hidden_layers = \"2\": must be an integer");
  EXPECT_NAMES(with("num_hidden_layers", "-2"), "num_hidden_layers = -2");
  EXPECT_NAMES(with("vocab_size", "9223372036854775808"), "vocab_size = 9223372036854775808");
  EXPECT_NAMES(with("num_attention_heads", "0"), "num_attention_heads = 0");
  EXPECT_NAMES(with("num_attention_heads", "3"), "num_attention_heads = 3: must be a divisor of hidden_size = 16");
  EXPECT_NAMES(with("rms_norm_eps", "NaN"), "; after key \"rms_norm_eps\"");
  EXPECT_NAMES(with("rms_norm_eps", "null"), "rms_norm_eps is missing");
  EXPECT_NAMES(with("model_type", "\"palimpsest9\""), "model_type = \"palimpsest9\"");
  EXPECT_NAMES(with("architectures", "[\"Nope\"]"), "architectures = [Nope]");
  EXPECT_NAMES(with("hidden_act", "\"gelu\""), "hidden_act = \"gelu\"");
  EXPECT_EQ(with("sliding_window", "8"), "accepted") << "Mistral's window";
  EXPECT_NAMES(with("sliding_window", "0"), "sliding_window = 0");
  EXPECT_NAMES(with("rope_scaling", "{\"rope_type\": \"spiral\", \"factor\": 2}"),
               "rope_scaling.rope_type = \"spiral\"");
  EXPECT_NAMES(with("quantization_config", "{\"quant_method\": \"gptq\"}"), "quantization_config");
  EXPECT_NAMES(with("tie_word_embeddings", "false"), "tensor lm_head.weight: missing");
}

TEST(Checkpoint, RefusesTensorsThatAreNoWeights) {
  CheckpointFolder folder;
  const auto with = [&](CheckpointFolder::Tensor tensor) {
    CheckpointFolder changed;
    changed.tensors["model.layers.0.self_attn.q_proj.weight"] = std::move(tensor);
    changed.write();
    return refusal(changed);
  };
  EXPECT_NAMES(with({.shape = {16, 16}, .dtype = "I8"}),
               "tensor model.layers.0.self_attn.q_proj.weight: is of type I8");
  EXPECT_NAMES(with({.shape = {0, 16}}), "shape [0, 16], expected one to four dimensions above 0");
  EXPECT_NAMES(with({.shape = {}}), "shape []");
  EXPECT_NAMES(with({.shape = {1, 1, 1, 1, 1}}), "shape [1, 1, 1, 1, 1]");
  EXPECT_NAMES(with({.shape = {15, 16}}), "has 15 rows, expected an even number for each of num_attention_heads = 2");
}

TEST(Checkpoint, TellsOfTensorsThatNobodyReads) {
  CheckpointFolder folder;
  folder.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {.shape = {4}};
  folder.write();
  EXPECT_TRUE(open_checkpoint(folder.path()).value()->warnings().empty()) << "computed, not read";
  folder.tensors["model.layers.00.input_layernorm.weight"] = {.shape = {16}};
  folder.tensors["stray"] = {.shape = {4}};
  folder.write();
  const auto file = open_checkpoint(folder.path()).value();
  ASSERT_EQ(file->warnings().size(), 1U);
  EXPECT_NAMES(file->warnings()[0], "tensor model.layers.00.input_layernorm.weight and 1 more");
}

TEST(Checkpoint, ATiedHeadIsNotRead) {
  CheckpointFolder folder;
  folder.tensors["lm_head.weight"] = {.shape = {32, 16}};
  folder.write();
  EXPECT_EQ(open_checkpoint(folder.path()).value()->find_tensor("output.weight"), nullptr);
  folder.config["tie_word_embeddings"] = "false";
  folder.write();
  EXPECT_NE(open_checkpoint(folder.path()).value()->find_tensor("output.weight"), nullptr);
}

TEST(Checkpoint, HandsOnTheTextsOfTheTokeniser) {
  CheckpointFolder folder;
  folder.add_file("tokenizer.json", "{\"a\": 1}");
  folder.add_file("tokenizer.model", "not used beside tokenizer.json");
  folder.add_file("tokenizer_config.json", "{}");
  folder.add_file("chat_template.jinja", "{{ x }}");
  folder.add_file("generation_config.json", "{\"eos_token_id\": [7, 9]}");
  const auto file = open_checkpoint(folder.path()).value();
  EXPECT_EQ(file->string_value("tokenizer.huggingface.json").value(), "{\"a\": 1}");
  EXPECT_EQ(file->find("tokenizer.sentencepiece.model"), nullptr);
  EXPECT_EQ(file->string_value("tokenizer.huggingface.config").value(), "{}");
  EXPECT_EQ(file->string_value("tokenizer.chat_template").value(), "{{ x }}");
  EXPECT_EQ(file->integer_array("tokenizer.ggml.eos_token_ids").value(), (std::vector<std::int64_t>{7, 9, 2}));
  folder.add_file("generation_config.json", "{\"eos_token_id\": [-7]}");
  EXPECT_NAMES(refusal(folder), "/generation_config.json: eos_token_id = [-7]");
}

TEST(Checkpoint, HandsOnWhatTheMakersAdviseForSampling) {
  CheckpointFolder folder;
  folder.add_file("generation_config.json",
                  R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": "x", "min_p": 0, "min_length": 3})");
  const auto file = open_checkpoint(folder.path()).value();
  EXPECT_FLOAT_EQ(static_cast<float>(file->real_value("general.sampling.temp").value()), 0.6F);
  EXPECT_EQ(file->unsigned_value("general.sampling.top_k").value(), 20U);
  EXPECT_EQ(file->real_value("general.sampling.min_p").value(), 0);
  EXPECT_EQ(file->find("general.sampling.top_p"), nullptr);
  EXPECT_EQ(file->find("general.sampling.penalty_repeat"), nullptr);
  folder.add_file("generation_config.json", R"({"do_sample": false, "temperature": 0.6})");
  EXPECT_EQ(open_checkpoint(folder.path()).value()->find("general.sampling.temp"), nullptr);
}

TEST(Checkpoint, ReadsThePoolingOfSentenceTransformers) {
  CheckpointFolder folder;
  folder.add_file("modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
                                      {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  EXPECT_NAMES(refusal(folder), "/modules.json: [1].path = \"1_Pooling\": must be a folder that holds a config.json");
  folder.add_file("1_Pooling/config.json", R"({"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true})");
  EXPECT_EQ(open_checkpoint(folder.path()).value()->unsigned_value("llama.pooling_type").value(), 1U);
  folder.add_file("modules.json", R"([{"path": "../x", "type": "sentence_transformers.models.Pooling"}])");
  EXPECT_NAMES(refusal(folder), "[0].path = \"../x\"");
}

TEST(Checkpoint, WhatMayBeMissingDependsOnTheUse) {
  CheckpointFolder folder;
  std::filesystem::remove(folder.path() + "/model.safetensors");
  EXPECT_NAMES(refusal(folder), ": no model.safetensors and no model.safetensors.index.json");
  EXPECT_EQ(refusal(folder, CheckpointUse::inspection), "accepted");
  EXPECT_EQ(refusal(folder, CheckpointUse::vocabulary), "accepted");
  folder.config["model_type"] = "\"unheard_of\"";
  folder.write_config();
  EXPECT_NAMES(refusal(folder, CheckpointUse::inspection), "model_type");
  EXPECT_EQ(refusal(folder, CheckpointUse::vocabulary), "accepted");
  std::filesystem::remove(folder.path() + "/config.json");
  EXPECT_NAMES(refusal(folder, CheckpointUse::inspection), ": is a directory without config.json");
  EXPECT_EQ(refusal(folder, CheckpointUse::vocabulary), "accepted");
  folder.add_file("pytorch_model.bin", "x");
  folder.config["model_type"] = "\"llama\"";
  folder.write_config();
  EXPECT_NAMES(refusal(folder), "/pytorch_model.bin: a Python pickle");
}

}  // namespace
}  // namespace plm
