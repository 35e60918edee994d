// Once a text is being written, its passes take no memory from the heap: neither the model that enqueues them, nor the
// device that runs them, whatever they read back. The whole engine may take what it hands over (see below), and what
// grows with the text: one page each kPageCells tokens, and vectors and strings that double.
// Covers src/engine/scheduler.cpp, src/kernels/cpu/cpu_device.cpp and src/state/sequence_state.cpp.
// Operator new is replaced here for the whole test program, and counts while somebody asks it to.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>
#include <numeric>

#include "engine/engine_runs.h"
#include "model/architecture.h"
#include "model/tiny_llama.h"
#include "state/sequence_state.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> taken{0};

void* take(std::size_t bytes, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) taken.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
// Not inlined, or GCC takes free for a mistake.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace plm {
namespace {

/// How often operator new was called meanwhile, by any thread.
template <typename Work>
std::size_t allocations_during(const Work& work) {
  taken = 0;
  counting = true;
  work();
  counting = false;
  return taken;
}

constexpr std::uint32_t kLongContext = 1024;

/// Weights of a quantised type, so that activations are rounded as well.
TinyLlama quantised_model(bool has_experts = false) {
  TinyLlama model;
  if (has_experts) model.with_experts();
  model.with_vocabulary().keys["llama.context_length"] = kLongContext;
  for (auto& [name, tensor] : model.tensors) {
    if (tensor.dims.size() >= 2 && name.find("_inp.") == std::string::npos) tensor.type = "Q8_0";
  }
  return model;
}

/// Two texts that are computed together, a row each a pass, on two threads.
class SteadyPasses {
 public:
  explicit SteadyPasses(const KvTypes& kv_types, bool has_experts = false)
      : tiny_(quantised_model(has_experts)),
        model_(load_model(tiny_.file, *device_).value()),
        layout_(model_->state_layout(kv_types).value()),
        pool_(*device_, layout_.page_bytes, 64) {}

  void run_pass(std::span<const Yield> yields) {
    copies_.clear();
    for (std::size_t s = 0; s < states_.size(); ++s) {
      EXPECT_TRUE(states_[s].reserve(1, copies_).has_value());
      const auto slot = static_cast<std::uint32_t>(states_[s].length());
      sights_[s] = {.sequence = static_cast<std::uint32_t>(s), .slot = slot, .end = slot + 1};
      positions_[s] = slot;
      pages_[s] = states_[s].storages();
    }
    statistics_.resize(yields.size());
    results_.resize(yields.size());
    const PassRows rows{.tokens = tokens_,
                        .positions = positions_,
                        .table = {sights_, pages_, {}},
                        .yields = yields,
                        .statistics = statistics_,
                        .results = results_};
    EXPECT_TRUE(model_->enqueue(rows, layout_).has_value());
    EXPECT_TRUE(device_->wait().has_value());
    for (SequenceState& state : states_) state.keep(1);
  }

 private:
  OpenTiny tiny_;
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 2});
  std::unique_ptr<Model> model_;
  StateLayout layout_;
  PagePool pool_;
  std::array<SequenceState, 2> states_{SequenceState(pool_), SequenceState(pool_)};
  std::array<std::int32_t, 2> tokens_{3, 5};
  std::array<std::uint32_t, 2> positions_{};
  std::array<RowSight, 2> sights_{};
  std::array<std::span<Storage* const>, 2> pages_{};
  std::vector<PageCopy> copies_;
  std::vector<RowStatistics> statistics_;
  std::vector<YieldResult> results_;
};

// With one page in sight, and with two, whose sums are added up.
TEST(SteadyState, APassAllocatesNothing) {
  for (const KvTypes& kv_types : {KvTypes(quant_f32), KvTypes(quant_f16)}) {
    for (const YieldKind kind : {YieldKind::statistics, YieldKind::top, YieldKind::logits, YieldKind::hidden}) {
      const std::array<Yield, 2> yields{Yield{0, kind, 5}, Yield{1, kind, 5}};
      SteadyPasses passes(kv_types);
      for (int pass = 0; pass < 4; ++pass) passes.run_pass(yields);
      const auto run_many = [&](int count) {
        for (int pass = 0; pass < count; ++pass) passes.run_pass(yields);
      };
      EXPECT_EQ(allocations_during([&] { run_many(200); }), 0U) << static_cast<int>(kind);
      run_many(kPageCells - 200);
      EXPECT_EQ(allocations_during([&] { run_many(200); }), 0U) << static_cast<int>(kind);
    }
  }
}

// Which experts are chosen differs from pass to pass; the room for their rows does not.
TEST(SteadyState, APassWithExpertsAllocatesNothing) {
  const std::array<Yield, 2> yields{Yield{0, YieldKind::statistics, 5}, Yield{1, YieldKind::statistics, 5}};
  SteadyPasses passes(quant_f32, true);
  const auto run_many = [&](int count) {
    for (int pass = 0; pass < count; ++pass) passes.run_pass(yields);
  };
  run_many(4);
  EXPECT_EQ(allocations_during([&] { run_many(200); }), 0U);
}

// A pass of the engine: the answer, which is the decoder's to keep, is a vector of statistics and one of results, and
// with all logits asked for, those. The decoder's coroutine frame and those vectors of its own that last as long as the
// text are taken once, when the text is started. All else is what grows with the text.
TEST(SteadyState, AWholeTokenAllocatesOnlyItsAnswer) {
  const std::string path = testing::TempDir() + "plm-steady-" + std::to_string(getpid()) + ".gguf";
  ASSERT_TRUE(quantised_model().writer().write(path).has_value());
  const auto engine = load_engine(path, {}, {.threads = 2});
  std::filesystem::remove(path);
  constexpr std::size_t kWarm = 100, kTokens = 100;
  std::vector<std::size_t> at_token(kWarm + kTokens + 1);
  std::size_t written = 0;
  GenerationRequest request;
  request.prompt = {1, 2, 3};
  request.max_tokens = kWarm + kTokens;
  request.ignore_end = true;
  request.listener = [&](const Event& event) {
    if (event.kind == EventKind::committed) at_token[written++] = taken;
  };
  const auto generation = engine->start(std::move(request));
  ASSERT_TRUE(generation.has_value());
  (void)allocations_during([&] { EXPECT_TRUE(engine->run().has_value()); });
  ASSERT_EQ(written, kWarm + kTokens);
  std::map<std::size_t, std::size_t> tokens_with;  // that many allocations
  for (std::size_t i = kWarm; i < kWarm + kTokens - 1; ++i) ++tokens_with[at_token[i + 1] - at_token[i]];
  EXPECT_GE(tokens_with[2], kTokens * 9 / 10) << "nearly all tokens: the two vectors of the answer";
  EXPECT_LE(at_token[kWarm + kTokens - 1] - at_token[kWarm], 2 * kTokens + 10);
}

}  // namespace
}  // namespace plm
