#include "model/parameter_counts.h"

#include <gtest/gtest.h>

#include "model/tiny_llama.h"

namespace plm {
namespace {

TEST(ParameterCounts, OfExpertsOnlyTheUsedOnesAreActive) {
  const auto file = GgufFile::open(std::string(PLM_GOLDEN) + "/oracle/mixtral-bf16.gguf").value();
  const ParameterCounts counts = count_parameters(*file);
  const std::uint64_t expert = 3 * 64 * 32;  // gate, up and down
  EXPECT_EQ(counts.total, 115520U);
  EXPECT_EQ(counts.experts, 4U);
  EXPECT_EQ(counts.used_experts, 2U);
  EXPECT_EQ(counts.active, counts.total - 2 * 2 * expert);  // in each of two layers two are left out
}

TEST(ParameterCounts, SharedExpertsAndDenseLayersAreActive) {
  const auto file = GgufFile::open(std::string(PLM_GOLDEN) + "/oracle/deepseek_v3-bf16.gguf").value();
  const ParameterCounts counts = count_parameters(*file);
  EXPECT_EQ(counts.total - counts.active, (8U - 3U) * 3 * 64 * 16);
}

TEST(ParameterCounts, DenseModelsAndSenselessKeys) {
  TinyLlama model;
  const OpenTiny dense(model);
  EXPECT_EQ(count_parameters(*dense.gguf).active, count_parameters(*dense.gguf).total);
  EXPECT_EQ(count_parameters(*dense.gguf).experts, 0U);
  model.keys["llama.expert_count"] = 2U;
  model.keys["llama.expert_used_count"] = 3U;
  model.tensors["blk.0.ffn_up.1.weight"] = {{32, 64}};
  EXPECT_EQ(count_parameters(*OpenTiny(model).gguf).experts, 0U);
  model.keys["llama.expert_used_count"] = 1U;
  const ParameterCounts counts = count_parameters(*OpenTiny(model).gguf);
  EXPECT_EQ(counts.total - counts.active, 32U * 64 / 2);
}

}  // namespace
}  // namespace plm
