#include "text/gguf_pipeline.h"

#include <gtest/gtest.h>

#include "text/tokenizer.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

TEST(GgufPipeline, UnknownPreTokenizersAreNamed) {
  const VocabularyFields fields{.pre = "nosuch", .tokens = {"a"}, .merges = {"a a"}};
  const auto loaded = Tokenizer::load(file_of(fields.writer()));
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(loaded.error().message.starts_with(
      "m.gguf: tokenizer.ggml.pre is 'nosuch', an unknown pre-tokeniser; known are default, gpt-2,"))
      << loaded.error().message;
}

}  // namespace
}  // namespace plm
