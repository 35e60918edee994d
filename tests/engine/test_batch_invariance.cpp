// Batch invariance (DESIGN section 4): the bits of a row's logits depend on its own sequence only, not on threads,
// chunks, neighbours or forks, and the fast kernels give those of the plain ones. Covers src/engine/scheduler.cpp.
#include <gtest/gtest.h>

#include <utility>

#include "engine/scheduled_model.h"

namespace plm {
namespace {

struct Arrangement {
  int threads;
  std::size_t batch_rows;
  bool has_neighbours;
};

constexpr std::size_t kLength = 270;  // more than one page of cells

// The logits of a long prompt and of three single tokens behind it.
Logits logits_in(const std::string& path, const ScheduledOptions& options, bool has_neighbours) {
  ScheduledModel model(path, options);
  const auto session = model.open();
  std::vector<std::unique_ptr<EngineSession>> others;
  std::vector<std::unique_ptr<LogitsPass>> other_passes;
  const auto disturb = [&](std::size_t rows) {
    for (std::size_t i = 0; has_neighbours && i < 7; ++i) {
      if (others.size() <= i) others.push_back(model.open());
      const auto tokens = some_tokens(rows + 5 * i, 100 + i, model.vocab_size());
      other_passes.push_back(std::make_unique<LogitsPass>(*others[i], tokens));
    }
  };
  const auto tokens = some_tokens(kLength, 1, model.vocab_size());
  disturb(10);
  LogitsPass prompt(*session, tokens);
  model.run();
  Logits all = prompt.take();
  for (const TokenId token : {3, 250, 77}) {
    disturb(1);
    LogitsPass next(*session, {token});
    model.run();
    all.push_back(next.take().front());
  }
  return all;
}

class BatchInvariance : public testing::TestWithParam<KvTypes> {};

TEST_P(BatchInvariance, LogitsAreTheSameBitsInEveryArrangement) {
  const Logits expected = logits_in(twin(), {.kv_types = GetParam(), .batch_rows = 512}, false);
  for (const auto& [threads, batch_rows, has_neighbours] :
       {Arrangement{1, 512, true}, Arrangement{1, 1, false}, Arrangement{2, 7, false}, Arrangement{2, 64, true},
        Arrangement{2, 512, false}, Arrangement{4, 64, true}, Arrangement{4, 512, false}}) {
    const ScheduledOptions options{.device = {.threads = threads}, .kv_types = GetParam(), .batch_rows = batch_rows};
    EXPECT_TRUE(equal_bits(logits_in(twin(), options, has_neighbours), expected))
        << threads << " threads, batches of " << batch_rows << (has_neighbours ? ", among others" : ", alone");
  }
}

TEST_P(BatchInvariance, AForkGoesOnLikeItsParent) {
  ScheduledModel model(twin(), {.kv_types = GetParam(), .batch_rows = 64});
  const auto prefix = some_tokens(kLength, 1, model.vocab_size());
  const auto parent = model.open();
  append(model, *parent, prefix);
  std::vector<std::unique_ptr<EngineSession>> sessions;
  std::vector<std::unique_ptr<LogitsPass>> passes;
  std::vector<std::vector<TokenId>> tails;
  for (std::uint64_t i = 0; i < 4; ++i) {
    tails.push_back(some_tokens(5 + i, 50 + i, model.vocab_size()));
    sessions.push_back(model.open(parent->state().fork()));
    passes.push_back(std::make_unique<LogitsPass>(*sessions.back(), tails.back()));
  }
  LogitsPass own(*parent, tails[0]);  // the parent writes in the same batch
  model.run();
  EXPECT_TRUE(equal_bits(own.take(), passes[0]->take()));
  for (std::size_t i = 1; i < sessions.size(); ++i) {
    const auto fresh = model.open();
    append(model, *fresh, prefix);
    EXPECT_TRUE(equal_bits(append(model, *fresh, tails[i]), passes[i]->take())) << i;
  }
}

TEST_P(BatchInvariance, StepsBackAreForgotten) {
  ScheduledModel model(twin(), {.kv_types = GetParam()});
  const auto session = model.open(), fresh = model.open();
  const auto kept = some_tokens(200, 1, model.vocab_size());
  append(model, *session, kept);
  append(model, *session, some_tokens(90, 2, model.vocab_size()));
  session->truncate_state(kept.size());
  append(model, *fresh, kept);
  const auto rest = some_tokens(80, 3, model.vocab_size());
  EXPECT_TRUE(equal_bits(append(model, *session, rest), append(model, *fresh, rest)));
}

INSTANTIATE_TEST_SUITE_P(KvTypes, BatchInvariance,
                         testing::Values(KvTypes(quant_f32), KvTypes(quant_f16), KvTypes(quant_bf16),
                                         KvTypes(quant_q8_0), KvTypes(quant_q4_0), KvTypes(quant_q8_0, quant_q4_0),
                                         KvTypes(quant_f16, quant_q8_0)),
                         [](const auto& instance) {
                           std::string name = instance.param.name();
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

// Every family, beyond one page and beyond its windows.
class FamilyInvariance : public testing::TestWithParam<const char*> {};

TEST_P(FamilyInvariance, LogitsAreTheSameBitsInEveryArrangement) {
  const std::string path = fixture(GetParam());
  const Logits expected = logits_in(path, {.batch_rows = 512}, false);
  for (const auto& [threads, batch_rows, has_neighbours] :
       {Arrangement{1, 64, true}, Arrangement{2, 1, false}, Arrangement{4, 7, true}, Arrangement{4, 512, false}}) {
    const ScheduledOptions options{.device = {.threads = threads}, .batch_rows = batch_rows};
    EXPECT_TRUE(equal_bits(logits_in(path, options, has_neighbours), expected))
        << threads << " threads, batches of " << batch_rows << (has_neighbours ? ", among others" : ", alone");
  }
  const ScheduledOptions plain{.device = {.threads = 1, .kernels = KernelChoice::reference}, .batch_rows = 512};
  const ScheduledOptions best{.device = {.threads = 1, .simd = usable_simd_targets().back()}, .batch_rows = 512};
  if (usable_simd_targets().back() >= SimdTarget::avx2) {  // fused like the plain kernels
    EXPECT_TRUE(equal_bits(logits_in(path, best, false), logits_in(path, plain, false)));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyInvariance,
                         testing::Values("llama-f32.gguf", "qwen2-bf16.gguf", "qwen3-f32.gguf", "gemma2-bf16.gguf",
                                         "gemma3_text-f32.gguf", "phi3-bf16.gguf", "phi3_longrope-bf16.gguf",
                                         "smollm3-bf16.gguf", "olmo2-bf16.gguf", "olmo3-bf16.gguf", "mixtral-bf16.gguf",
                                         "gpt_oss-bf16.gguf", "deepseek_v3-bf16.gguf", "deepseek_v2_old-bf16.gguf",
                                         "olmoe-bf16.gguf", "qwen2_moe-bf16.gguf", "mamba2-bf16.gguf",
                                         "falcon_h1-f32.gguf", "granite_hybrid-bf16.gguf", "qwen3_next-bf16.gguf"),
                         [](const auto& instance) {
                           const std::string name(instance.param);
                           return name.substr(0, name.find('-'));
                         });

// Every storage type, instruction set and rounding of activations.
class QuantisedInvariance : public testing::TestWithParam<const char*> {
 protected:
  static std::string path() { return std::string(PLM_GOLDEN) + "/oracle/q256/llama_q256-" + GetParam() + ".gguf"; }

  static Logits logits_in(const CpuDeviceOptions& device, std::size_t batch_rows) {
    ScheduledModel model(path(), {.device = device, .batch_rows = batch_rows});
    const auto session = model.open(), neighbour = model.open();
    const auto tokens = some_tokens(70, 1, model.vocab_size());
    LogitsPass beside(*neighbour, some_tokens(9, 2, model.vocab_size()));
    LogitsPass prompt(*session, tokens);
    model.run();
    Logits all = prompt.take();
    all.push_back(append(model, *session, {3}).front());  // one row alone
    return all;
  }
};

TEST_P(QuantisedInvariance, LogitsAreTheSameBitsInEveryArrangement) {
  for (const Activations activations : {Activations::f32, Activations::int8, Activations::int16}) {
    const CpuDeviceOptions plain{.threads = 1, .kernels = KernelChoice::reference, .activations = activations};
    const Logits judge = logits_in(plain, 512);
    for (const SimdTarget target : usable_simd_targets()) {
      const CpuDeviceOptions device{.threads = 1, .simd = target, .activations = activations};
      const Logits expected = logits_in(device, 512);
      if (target >= SimdTarget::avx2) {  // fused like the plain kernels
        EXPECT_TRUE(equal_bits(expected, judge)) << name_of(target);
      }
      for (const auto& [threads, batch_rows] : {std::pair{1, 1}, std::pair{2, 7}, std::pair{4, 64}}) {
        CpuDeviceOptions other = device;
        other.threads = threads;
        EXPECT_TRUE(equal_bits(logits_in(other, static_cast<std::size_t>(batch_rows)), expected))
            << name_of(target) << ", " << threads << " threads, batches of " << batch_rows;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mixtures, QuantisedInvariance,
                         testing::Values("IQ4_NL", "IQ4_XS", "Q2_K", "Q3_K_M", "Q4_0", "Q4_1", "Q4_K_M", "Q5_0", "Q5_1",
                                         "Q5_K_M", "Q6_K", "Q8_0"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Kernels, FastOnesGiveTheBitsOfThePlainOnesInWholeModels) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "only where the machine has fused multiply-add";
#endif
  // The heads of the first three have 32 numbers, those of the others no whole block.
  for (const std::string& path : {twin(), fixture("qwen3-f32.gguf"), fixture("qwen3_next-bf16.gguf"),
                                  fixture("llama-f32.gguf"), fixture("llama_tied_mqa_hd-bf16.gguf")}) {
    for (const KvTypes& kv_types : {KvTypes(quant_f32), KvTypes(quant_f16), KvTypes(quant_q8_0), KvTypes(quant_q4_0),
                                    KvTypes(quant_q8_0, quant_q4_0)}) {
      if (path.find("llama") != std::string::npos && kv_types.keys->block_size > 1) continue;
      const CpuDeviceOptions best{.threads = 1, .simd = usable_simd_targets().back()};
      ScheduledModel fast(path, {.device = best, .kv_types = kv_types});
      ScheduledModel plain(path, {.device = {.threads = 1, .kernels = KernelChoice::reference}, .kv_types = kv_types});
      const auto fast_session = fast.open(), plain_session = plain.open();
      for (const std::size_t count : {33U, 1U, 1U}) {
        const auto tokens = some_tokens(count, count, fast.vocab_size());
        EXPECT_TRUE(equal_bits(append(fast, *fast_session, tokens), append(plain, *plain_session, tokens)))
            << path << " " << kv_types.name();
      }
    }
  }
}

}  // namespace
}  // namespace plm
