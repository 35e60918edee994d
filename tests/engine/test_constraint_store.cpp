#include "engine/constraint_store.h"

#include <gtest/gtest.h>

#include <string>

#include "constraint/constraint_matcher.h"

namespace plm {
namespace {

std::shared_ptr<const Tokenizer> tokenizer() {
  static const auto kLoaded =
      Tokenizer::load(*GgufFile::open(std::string(PLM_MODELS) + "/twin-ar.gguf", {.least_tensors = 0}));
  return kLoaded.value();
}

ConstraintSource regex(std::string text) {
  return {.language = ConstraintLanguage::regex, .text = std::move(text), .choices = {}};
}

TEST(ConstraintStore, KeepsWhatWasCompiled) {
  ConstraintStore store(tokenizer());
  const auto first = store.compiled(regex("a+"));
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(store.compiled(regex("a+"))->constraint, first->constraint);
  for (std::size_t i = 0; i < ConstraintStore::kMostKept; ++i) {
    ASSERT_TRUE(store.compiled(regex(std::string(i + 1, 'b'))).has_value());
  }
  EXPECT_NE(store.compiled(regex("a+"))->constraint, first->constraint);
}

TEST(ConstraintStore, ErrorsSayThatItIsTheConstraint) {
  ConstraintStore store(tokenizer());
  const auto refused = store.compiled(regex("(a"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().message.starts_with("constraint: ")) << refused.error().message;
}

}  // namespace
}  // namespace plm
