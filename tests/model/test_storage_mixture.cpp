#include "model/storage_mixture.h"

#include <gtest/gtest.h>

#include "tiny_llama.h"

namespace plm {
namespace {

/// The twelve files that llama.cpp made of one checkpoint: every tensor gets the type that it chose.
class MixtureOfLlamaCpp : public testing::TestWithParam<const char*> {};

TEST_P(MixtureOfLlamaCpp, ChoosesTheSameTypes) {
  const std::string folder = std::string(PLM_GOLDEN) + "/oracle/q256/llama_q256-";
  const auto file = GgufFile::open(folder + GetParam() + ".gguf").value();
  const StorageType* type = find_mixture(GetParam());
  ASSERT_NE(type, nullptr);
  const StorageMixture mixture(*file, *type, false);
  for (const TensorEntry& tensor : file->tensors()) {
    EXPECT_EQ(mixture.type_of(tensor).name, tensor.type->name) << tensor.name;
  }
  EXPECT_EQ(mixture.file_type(), file->unsigned_value("general.file_type").value());
}

INSTANTIATE_TEST_SUITE_P(Golden, MixtureOfLlamaCpp,
                         testing::Values("IQ4_NL", "IQ4_XS", "Q2_K", "Q3_K_M", "Q4_0", "Q4_1", "Q4_K_M", "Q5_0", "Q5_1",
                                         "Q5_K_M", "Q6_K", "Q8_0"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(StorageMixture, EveryNameIsAType) {
  EXPECT_EQ(mixture_names(),
            "f32, f16, bf16, q8_0, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1, q4_0, iq4_nl, iq4_xs, mxfp4, "
            "q3_k, q2_k");
  EXPECT_EQ(find_mixture("Q4_K_M"), find_mixture("q4_k"));
  EXPECT_EQ(find_mixture("q4_k")->name(), "q4_k");
  for (const char* name : {"", "q4_k_s", "q9_0", "i8", "_k_m"}) EXPECT_EQ(find_mixture(name), nullptr) << name;
}

std::string type_of(const TinyLlama& model, std::string_view type, const std::string& tensor, bool pure = false) {
  const OpenTiny open(model);
  return std::string(
      StorageMixture(*open.gguf, *find_mixture(type), pure).type_of(*open.gguf->find_tensor(tensor)).name);
}

TEST(StorageMixture, RowsThatFillNoBlockFallBack) {
  const auto fallback = [](std::uint64_t row, std::string_view type) {
    TinyLlama model;
    model.tensors["blk.0.attn_q.weight"] = {{row, 2}};
    return type_of(model, type, "blk.0.attn_q.weight");
  };
  EXPECT_EQ(fallback(96, "q2_k"), "Q4_0");
  EXPECT_EQ(fallback(96, "q3_k"), "Q4_0");
  EXPECT_EQ(fallback(96, "q4_k"), "Q5_0");
  EXPECT_EQ(fallback(96, "q5_k"), "Q5_1");
  EXPECT_EQ(fallback(96, "q6_k"), "Q8_0");
  EXPECT_EQ(fallback(96, "iq4_xs"), "IQ4_NL");
  EXPECT_EQ(fallback(96, "q4_0"), "Q4_0");
  EXPECT_EQ(fallback(40, "q4_k"), "F16") << "not even blocks of 32";
  EXPECT_EQ(fallback(40, "q8_0"), "F16");
  EXPECT_EQ(fallback(40, "bf16"), "BF16");
}

TEST(StorageMixture, SomeTensorsStayAsTheyAre) {
  TinyLlama model;
  for (const char* name : {"blk.0.attn_q_norm.weight", "blk.0.ffn_gate_inp.weight", "blk.0.ssm_conv1d.weight",
                           "position_embd.weight", "blk.0.ssm_a", "blk.0.attn_q.bias"}) {
    model.tensors[name] = {{256, 2}};
    EXPECT_EQ(type_of(model, "q4_0", name), "F32") << name;
  }
  EXPECT_EQ(type_of(model, "f16", "output_norm.weight"), "F32") << "vectors are float32 whatever the matrices are";
}

TEST(StorageMixture, TheHeadGetsMoreBitsThanTheRest) {
  TinyLlama model;
  model.tensors["token_embd.weight"] = {{256, 4}};
  EXPECT_EQ(type_of(model, "q4_0", "token_embd.weight"), "Q6_K") << "it is the head as well";
  EXPECT_EQ(type_of(model, "q8_0", "token_embd.weight"), "Q8_0");
  EXPECT_EQ(type_of(model, "f16", "token_embd.weight"), "F16");
  EXPECT_EQ(type_of(model, "q4_0", "token_embd.weight", true), "Q4_0") << "pure";
  model.tensors["output.weight"] = {{256, 4}};
  EXPECT_EQ(type_of(model, "q4_0", "output.weight"), "Q6_K");
  EXPECT_EQ(type_of(model, "q4_0", "token_embd.weight"), "Q4_0");
  model.tensors["output.weight"] = {{96, 4}};
  EXPECT_EQ(type_of(model, "q4_k", "output.weight"), "Q8_0");
}

}  // namespace
}  // namespace plm
