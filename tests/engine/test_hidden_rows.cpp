// Reading whole texts: batch invariance of encoders, and what is refused.
#include "engine/hidden_rows.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/engine_runs.h"

namespace plm {
namespace {

std::string golden(const std::string& path) { return PLM_GOLDEN + path; }

FramedText some_text(std::size_t tokens, std::size_t seed) {
  FramedText text;
  for (std::size_t i = 0; i < tokens; ++i) text.tokens.push_back(static_cast<TokenId>(5 + (i * 31 + seed * 17) % 90));
  return text;
}

using Rows = std::vector<std::vector<std::vector<float>>>;  // of each text

Rows read_all(Engine& engine, const std::vector<FramedText>& texts) {
  std::vector<RowsWanted> wanted;
  for (const FramedText& text : texts) wanted.push_back({&text, rows_for(Pooling::mean, text.tokens.size())});
  Rows all(texts.size());
  const auto done = read_rows(engine, wanted, [&](std::size_t index, auto rows) -> Result<void> {
    all[index] = std::move(rows);
    return {};
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return all;
}

class EncoderInvariance : public testing::TestWithParam<const char*> {};

// The same bits alone and among others, in batches of any size, with any number of threads, on plain kernels.
TEST_P(EncoderInvariance, HiddenStatesAreTheSameBitsInEveryArrangement) {
  const std::string path = golden(GetParam());
  std::vector<FramedText> texts;
  for (std::size_t i = 0; i < 9; ++i) texts.push_back(some_text(1 + i * 13 % 60, i));
  const auto first = load_engine(path, {.use = ModelUse::embedding});
  Rows expected;
  for (const FramedText& text : texts) expected.push_back(read_all(*first, {text}).front());
  // Only with fused multiply-add have the fast kernels the bits of the plain ones.
  const bool is_fused = first->device().describe().find("baseline") == std::string::npos;
  for (const auto& [batch_rows, threads, kernels] :
       {std::tuple{256, 2, KernelChoice::fast}, std::tuple{64, 4, KernelChoice::fast},
        std::tuple{1, 1, KernelChoice::fast}, std::tuple{256, 1, KernelChoice::reference}}) {
    if (kernels == KernelChoice::reference && !is_fused) continue;
    const auto engine =
        load_engine(path, {.use = ModelUse::embedding, .batch_rows = static_cast<std::size_t>(batch_rows)},
                    {.threads = threads, .kernels = kernels});
    EXPECT_EQ(read_all(*engine, texts), expected) << batch_rows << " rows, " << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Encoders, EncoderInvariance,
                         testing::Values("/oracle/bert-f32.gguf", "/oracle/modernbert-bf16.gguf"),
                         [](const auto& instance) { return std::string(instance.index == 0 ? "bert" : "modernbert"); });

TEST(HiddenRows, PoolingTakesItsRows) {
  EXPECT_EQ(rows_for(Pooling::cls, 5), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(rows_for(Pooling::last, 5), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(rows_for(Pooling::mean, 3), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(pooled({{1, 2}, {3, 5}}), (std::vector<float>{2, 3.5F}));
}

TEST(HiddenRows, ATextThatDoesNotFitIsNamed) {
  const auto engine = load_engine(golden("/oracle/bert-f32.gguf"), {.use = ModelUse::embedding});
  const FramedText fits = some_text(128, 1), long_one = some_text(129, 1);
  const std::vector<RowsWanted> wanted{{&fits, {0}}, {&long_one, {0}}};
  const auto done = read_rows(*engine, wanted, [](auto, auto) -> Result<void> { return {}; });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message.find("text 2: prompt: 129 tokens"), 0U) << done.error().message;
}

TEST(HiddenRows, StopsWhenAsked) {
  const auto engine = load_engine(golden("/oracle/bert-f32.gguf"), {.use = ModelUse::embedding});
  const FramedText text = some_text(9, 1);
  const std::vector<RowsWanted> wanted{{&text, {0}}};
  const auto done =
      read_rows(*engine, wanted, [](auto, auto) -> Result<void> { return {}; }, {.interrupted = [] { return true; }});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
}

TEST(HiddenRows, AModelIsRefusedForWhatItIsNotMadeFor) {
  const auto message = [](const std::string& path, ModelUse use) {
    const auto engine = Engine::load(golden(path), make_cpu_device({.threads = 1}), {.use = use});
    return engine.has_value() ? std::string("accepted") : engine.error().message;
  };
  const auto expect = [](const std::string& found, const std::string& part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expect(message("/oracle/bert-f32.gguf", ModelUse::writing), "is an encoder, which gives vectors and writes no text");
  expect(message("/oracle/bert-f32.gguf", ModelUse::scoring), "use plm embed");
  expect(message("/oracle/xlmr_reranker-bf16.gguf", ModelUse::writing), "use plm rerank for a reranker");
  expect(message("/oracle/xlmr_reranker-bf16.gguf", ModelUse::embedding), "gives scores and no vectors");
  EXPECT_EQ(message("/oracle/xlmr_reranker-bf16.gguf", ModelUse::scoring), "accepted");
  EXPECT_EQ(message("/oracle/llama-f32.gguf", ModelUse::embedding), "accepted");
  const auto engine = Engine::load(golden("/oracle/bert-f32.gguf"), make_cpu_device({.threads = 1}),
                                   {.use = ModelUse::embedding, .context_length = 500});
  ASSERT_FALSE(engine.has_value());
  expect(engine.error().message, "has learned 128 positions; lower --context");
}

}  // namespace
}  // namespace plm
