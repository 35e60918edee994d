#include "plan/gguf_sketch.h"

#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "model/parameter_counts.h"
#include "plan/sequence_memory.h"

namespace plm {
namespace {

std::shared_ptr<const GgufFile> fixture(const std::string& name) {
  return open_checkpoint(PLM_GOLDEN "/oracle/" + name + ".gguf", CheckpointUse::inspection).value();
}

std::vector<std::string> kinds_of(const std::string& name) {
  std::vector<std::string> names;
  const ModelSketch sketch = sketch_of(*fixture(name)).value();
  for (std::size_t i = 0; i < sketch.layers.size(); ++i) {
    std::string all;
    for (const Mixer& mixer : sketch.layer(i).mixers) all += mixer_name(mixer).substr(0, 3) + " ";
    names.push_back(all);
  }
  return names;
}

bool has_kind(const std::string& name, const std::string& kind) {
  return std::ranges::any_of(kinds_of(name), [&](const std::string& each) { return each == kind; });
}

TEST(GgufSketch, TensorsTellTheKindsOfLayers) {
  EXPECT_TRUE(has_kind("deepseek_v3-bf16", "MLA "));
  EXPECT_TRUE(has_kind("mamba2-bf16", "Mam "));
  EXPECT_TRUE(has_kind("falcon_h1-f32", "GQA Mam ") || has_kind("falcon_h1-f32", "MHA Mam "));
  EXPECT_TRUE(has_kind("qwen3_next-bf16", "gat "));
  EXPECT_TRUE(has_kind("llama_tied_mqa_hd-bf16", "MQA "));
}

TEST(GgufSketch, WindowsAreWhereTheFileOrItsFamilyHasThem) {
  const ModelSketch gemma = sketch_of(*fixture("gemma2-bf16")).value();
  EXPECT_GT(std::get<AttentionMixer>(gemma.layer(0).mixers.front()).window, 0U);
  EXPECT_EQ(std::get<AttentionMixer>(gemma.layer(1).mixers.front()).window, 0U);
  const ModelSketch six = sketch_of(*fixture("gemma3_text-f32")).value();
  EXPECT_GT(std::get<AttentionMixer>(six.layer(0).mixers.front()).window, 0U);
}

TEST(GgufSketch, CountsAreThoseOfTheTensorTable) {
  for (const char* name : {"mixtral-bf16", "qwen2_moe-bf16", "llama-f32", "deepseek_v3-bf16", "gpt_oss-bf16"}) {
    SCOPED_TRACE(name);
    const auto file = fixture(name);
    const ParameterCounts known = count_parameters(*file);
    const CountedParameters counts = count_tensors(*file);
    EXPECT_EQ(counts.stored, known.total);
    EXPECT_EQ(counts.active, known.active);
    EXPECT_LT(counts.without_embeddings, counts.stored);
    EXPECT_LE(counts.multiplied, counts.active);
  }
}

TEST(GgufSketch, AFileThatIsNoModelIsAnError) {
  const std::vector<std::string> none = {"llama.block_count=4000"};
  const auto file = GgufFile::overridden(fixture("llama-f32"), none).value();
  const auto sketch = sketch_of(*file);
  ASSERT_FALSE(sketch.has_value());
  EXPECT_EQ(sketch.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace plm
