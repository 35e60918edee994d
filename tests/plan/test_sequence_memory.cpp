#include "plan/sequence_memory.h"

#include "plan/parameter_counting.h"
#include "plan_cases.h"

namespace plm {
namespace {

SequenceOptions options_of(const Json& given) {
  SequenceOptions options;
  const std::string keys = given.value("tk", "f16");
  options.keys = find_stored_type(keys).value();
  options.values = find_stored_type(given.value("tv", keys)).value();
  options.state = find_stored_type(given.value("ts", "f32")).value();
  const std::string windows = given.value("swa", "exact");
  options.windows = windows == "chunk"    ? WindowPolicy::chunk
                    : windows == "padded" ? WindowPolicy::padded
                    : windows == "full"   ? WindowPolicy::full
                                          : WindowPolicy::exact;
  options.latent = given.value("mla", "latent") == "expanded" ? LatentForm::expanded : LatentForm::latent;
  options.chunk = given.value("ubatch", 512U);
  options.sequences = given.value("n_seq", 1U);
  options.context = given.value("n_ctx", 0U);
  return options;
}

TEST(SequenceMemory, EveryModelOfTheCases) {
  PLM_NEEDS_PLAN_CASES();
  const auto cases = plan_cases("seq_bytes");
  EXPECT_EQ(cases.size(), 212U);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["id"]);
    const auto bytes = sequence_bytes(plan_model(one["model"]), one["tokens"], options_of(one["options"]));
    ASSERT_TRUE(bytes.has_value()) << bytes.error().message;
    EXPECT_EQ(bytes->cells, one["expect"]["kv"]);
    EXPECT_EQ(bytes->recurrent, one["expect"]["state"]);
    EXPECT_EQ(bytes->total(), one["expect"]["total"]);
  }
}

TEST(SequenceMemory, AThousandTokensMore) {
  PLM_NEEDS_PLAN_CASES();
  const auto cases = plan_cases("delta_1k");
  EXPECT_EQ(cases.size(), 18U);
  for (const Json& one : cases) {
    const auto bytes = bytes_of_next_thousand(plan_model(one["model"]), one["tokens"], options_of(one["options"]));
    EXPECT_EQ(bytes.value(), one["expect"]["bytes"]) << one["id"];
  }
}

TEST(SequenceMemory, ForksShareTheirPast) {
  PLM_NEEDS_PLAN_CASES();
  const auto cases = plan_cases("fork");
  EXPECT_EQ(cases.size(), 4U);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["id"]);
    const ForkSizes sizes{.prefix = one["prefix"], .suffix = one["suffix"], .branches = one["n"]};
    const ForkBytes fork = fork_bytes(plan_model(one["model"]), sizes, options_of(one["options"])).value();
    EXPECT_EQ(fork.apart, one["expect"]["naive"]);
    EXPECT_EQ(fork.shared, one["expect"]["shared_once"]);
    EXPECT_EQ(fork.per_branch, one["expect"]["per_branch"]);
    EXPECT_EQ(fork.total(), one["expect"]["total"]);
  }
}

TEST(SequenceMemory, LogitsAreOfTheRowsThatAreAskedFor) {
  PLM_NEEDS_PLAN_CASES();
  for (const Json& one : plan_cases("logits_buffer")) {
    EXPECT_EQ(logits_bytes(one["rows"], one["vocab"]), one["expect"]["bytes"]) << one["id"];
  }
  const auto cases = plan_cases("diffusion_memory");
  EXPECT_EQ(cases.size(), 5U);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["id"]);
    ModelSketch sketch = plan_model(one["model"]);
    const Json& expect = one["expect"];
    const std::uint64_t prompt = one["prompt"], canvas = one["canvas"];
    EXPECT_EQ(logits_bytes(prompt + canvas, sketch.vocabulary), expect["logits_all_rows_f32"]);
    EXPECT_EQ(logits_bytes(one["masked_rows"], sketch.vocabulary), expect["logits_needed_rows_f32"]);
    EXPECT_EQ(sequence_bytes(sketch, prompt, {})->total(), expect["kv_prefix"]);
    if (expect.contains("kv_after_block")) {
      EXPECT_EQ(sequence_bytes(sketch, prompt + sketch.block, {})->total(), expect["kv_after_block"]);
    }
    if (!expect.contains("approx_cache_if_on")) continue;
    sketch.is_causal = true;  // an approximate cache keeps what a causal network would
    EXPECT_EQ(sequence_bytes(sketch, prompt + canvas, {})->total(), expect["approx_cache_if_on"]);
  }
}

// What published calculators get wrong, with the number that is right.
TEST(SequenceMemory, WhatOthersGetWrong) {
  PLM_NEEDS_PLAN_CASES();
  const auto cases = plan_cases("known_wrong");
  EXPECT_EQ(cases.size(), 14U);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["id"]);
    const Json& options = one["options"];
    const ModelSketch sketch = plan_model(one["model"]);
    std::uint64_t ours = 0;
    if (options.contains("type")) {
      const StoredType type = find_stored_type(options["type"].get<std::string>()).value();
      ours = stored_bytes(type, count_parameters(sketch)->stored).value();
    } else {
      ours = sequence_bytes(sketch, options["tokens"], options_of(options))->cells;  // keys and values alone
    }
    EXPECT_EQ(ours, one["right_bytes"]);
    EXPECT_NE(ours, one["wrong_bytes"]);
  }
}

TEST(SequenceMemory, TheWrongNumbersAreReachedByTheErrorsTheyAreSaidToCome) {
  PLM_NEEDS_PLAN_CASES();
  // The window ignored, and the head taken as hidden / heads: seen for Gemma 3.
  ModelSketch sketch = plan_model("gemma-3-27b");
  EXPECT_EQ(sequence_bytes(sketch, 131072, {.windows = WindowPolicy::full})->total(), 66571993088U);
  for (LayerSketch& kind : sketch.kinds) {
    auto& attention = std::get<AttentionMixer>(kind.mixers.front());
    attention.head_size = sketch.hidden / attention.q_heads;
  }
  EXPECT_EQ(sequence_bytes(sketch, 131072, {.windows = WindowPolicy::full})->total(), 87375740928U);
  EXPECT_EQ(sequence_bytes(plan_model("deepseek-v3"), 65536, {.latent = LatentForm::expanded})->total(), 327491256320U);
}

TEST(SequenceMemory, CellsOfAWindow) {
  const SequenceOptions exact, chunk{.windows = WindowPolicy::chunk, .chunk = 100},
      padded{.windows = WindowPolicy::padded, .chunk = 100, .sequences = 2};
  EXPECT_EQ(kept_cells(1000, 0, exact), 1000U);
  EXPECT_EQ(kept_cells(1000, 300, exact), 300U);
  EXPECT_EQ(kept_cells(200, 300, exact), 200U);
  EXPECT_EQ(kept_cells(1000, 300, chunk), 399U);
  EXPECT_EQ(kept_cells(1000, 300, padded), 768U);  // 700 in whole units
}

TEST(SequenceMemory, ARowThatDoesNotFillItsBlocksIsAnError) {
  const Mixer mixer = AttentionMixer{.q_heads = 1, .kv_heads = 1, .head_size = 80};
  SequenceOptions options{.keys = find_stored_type("q8_0").value()};
  const auto bytes = mixer_bytes(mixer, 10, options);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().kind, ErrorKind::usage);
}

TEST(SequenceMemory, SharesOfKinds) {
  PLM_NEEDS_PLAN_CASES();
  const auto shares = mixer_shares(plan_model("qwen3-next-80b-a3b"), 4096, {}).value();
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_EQ(shares[0].layers + shares[1].layers, 48U);
  EXPECT_EQ(shares[0].per_token + shares[1].per_token, 24576U);
  EXPECT_EQ(shares[0].bytes.total() + shares[1].bytes.total(),
            sequence_bytes(plan_model("qwen3-next-80b-a3b"), 4096, {})->total());
}

}  // namespace
}  // namespace plm
