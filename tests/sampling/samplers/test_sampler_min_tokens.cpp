#include <gtest/gtest.h>

#include "sampling/golden_cases.h"
#include "sampling/word_list.h"

namespace plm {
namespace {

TEST(MinTokens, ForbidsTheEndUntilEnoughIsWritten) {
  const WordList texts({"a", "b", "</s>"}, {2});
  Settings settings(sampling_parameters());
  ASSERT_TRUE(settings.set_text("min_tokens", "2"));
  ASSERT_TRUE(settings.set_text("temperature", "0"));
  Chain chain = Chain::create(settings, texts).value();
  EXPECT_FALSE(chain.is_greedy());  // the device's greatest logit may be forbidden
  chain.begin(std::vector<std::int32_t>{0, 0, 0});
  Candidates workspace;
  const std::vector<float> logits = {1, 2, 9};
  for (const int expected : {1, 1, 2, 2}) {
    const auto selection = chain.select(logits, {}, workspace);
    ASSERT_TRUE(selection);
    EXPECT_EQ(selection->id, expected);
    chain.accept(selection->id);
  }
  ASSERT_TRUE(settings.set_text("min_tokens", "0"));
  ASSERT_TRUE(settings.set_text("ban_eos", "true"));
  EXPECT_EQ(Chain::create(settings, texts)->select(logits, {}, workspace)->id, 1);
}

TEST(MinTokens, AVocabularyOfEndsIsATypedError) {
  const WordList texts({"</s>"}, {0});
  Settings settings(sampling_parameters());
  ASSERT_TRUE(settings.set_text("ban_eos", "true"));
  Candidates workspace;
  const auto selection = Chain::create(settings, texts)->select(std::vector<float>{1}, {}, workspace);
  ASSERT_FALSE(selection);
  EXPECT_EQ(selection.error().kind, ErrorKind::unsatisfiable);
}

}  // namespace
}  // namespace plm
