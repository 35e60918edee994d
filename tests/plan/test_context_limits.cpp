#include "plan/context_limits.h"

#include <gtest/gtest.h>

#include "model/checkpoint.h"

namespace plm {
namespace {

TEST(ContextLimits, ReadFromAFile) {
  const auto file = open_checkpoint(PLM_GOLDEN "/oracle/llama-f32.gguf", CheckpointUse::inspection).value();
  const ContextLimits limits = context_limits(*file, 64);
  EXPECT_EQ(limits.configured, 64U);
  EXPECT_GT(limits.trained, 0U);
  EXPECT_EQ(limits.positional, limits.trained);
  EXPECT_EQ(limits.least(), std::min<std::uint64_t>(64, limits.trained));
}

TEST(ContextLimits, AStretchedFileWasTrainedWithLess) {
  const auto file = open_checkpoint(PLM_GOLDEN "/oracle/llama_rope_yarn-bf16.gguf", CheckpointUse::inspection).value();
  const ContextLimits limits = context_limits(*file, 0);
  EXPECT_LT(limits.trained, limits.positional);
}

TEST(ContextLimits, WarnsWhereTheyDisagree) {
  EXPECT_TRUE(context_warnings({.configured = 100, .positional = 200, .trained = 200, .effective = {}}).empty());
  EXPECT_EQ(context_warnings({.configured = 300, .positional = 200, .trained = 200, .effective = {}}).size(), 1U);
  EXPECT_EQ(context_warnings({.configured = 300, .positional = 400, .trained = 200, .effective = {}}).size(), 1U);
  EXPECT_EQ(context_warnings({.configured = 300, .positional = 400, .trained = 400, .effective = 100}).size(), 1U);
  EXPECT_EQ(context_warnings({.configured = 300, .positional = 400, .trained = 200, .effective = 100}).size(), 2U);
}

}  // namespace
}  // namespace plm
