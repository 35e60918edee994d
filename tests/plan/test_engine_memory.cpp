#include "plan/engine_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/engine.h"
#include "kernels/cpu/cpu_weight.h"
#include "kernels/cpu_device.h"
#include "kernels/watched_device.h"
#include "model/checkpoint.h"
#include "plan/gguf_sketch.h"

namespace plm {
namespace {

struct Counted {
  std::uint64_t weights = 0;  // allocated for them
  std::uint64_t live = 0;     // of everything else that is there now
};

class NobodyListens : public DeviceWatcher {
  void on_operation(Device&, const WatchedOperation&) override {}
};

/// A device that counts the bytes it is asked for.
class CountingDevice : public WatchedDevice {
 public:
  CountingDevice(NobodyListens& nobody, std::shared_ptr<Counted> counted)
      : WatchedDevice(make_cpu_device({.threads = 1}), nobody), counted_(std::move(counted)) {}

  Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override {
    PLM_TRY_ASSIGN(auto storage, WatchedDevice::allocate(bytes));
    counted_->live += bytes;
    Storage* raw = storage.get();
    return std::shared_ptr<Storage>(
        raw, [kept = std::move(storage), counted = counted_, bytes](Storage*) mutable { counted->live -= bytes; });
  }
  Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) override {
    PLM_TRY_ASSIGN(auto weight, WatchedDevice::load_weight(source));
    const auto& held = static_cast<const CpuWeight&>(*weight);
    counted_->weights += held.panels.bytes.size() + held.numbers.size() * sizeof(float);
    if (held.owner != nullptr) counted_->weights += held.bytes.size();
    return weight;
  }

 private:
  std::shared_ptr<Counted> counted_;
};

// Rows of one text, all at once where the network reads so, and the logits of the last where it has any.
Task<Result<void>> read_rows(Session& session, std::size_t count, bool reads_whole, bool has_head) {
  std::vector<TokenId> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<TokenId>(4 + i % 16);
  std::vector<Yield> yields;
  if (has_head) yields.push_back({.row = static_cast<std::uint32_t>(count - 1), .kind = YieldKind::statistics});
  const PassRequest request{.tokens = tokens,
                            .state = reads_whole ? StateUse::scratch : StateUse::append,
                            .sight = reads_whole ? Sight::bidirectional : Sight::causal,
                            .yields = yields};
  const Result<PassAnswer> answer = co_await session.pass(request);
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  co_return Result<void>{};
}

Result<std::unique_ptr<Engine>> load(const std::string& path, const std::shared_ptr<Counted>& counted,
                                     EngineOptions options) {
  static NobodyListens nobody;
  Result<std::unique_ptr<Engine>> engine;
  for (const ModelUse use : {ModelUse::writing, ModelUse::embedding, ModelUse::scoring}) {
    *counted = {};
    options.use = use;
    engine = Engine::load(path, std::make_unique<CountingDevice>(nobody, counted), options);
    if (engine.has_value() || engine.error().kind != ErrorKind::usage) break;
  }
  return engine;
}

struct Plan {
  ModelSketch sketch;
  EngineMemory memory;
};

Plan plan_for(const std::string& path, const RunSizes& sizes) {
  const auto file = open_checkpoint(path, CheckpointUse::inspection);
  if (!file.has_value()) throw std::runtime_error(file.error().message);
  const auto sketch = sketch_of(**file);
  if (!sketch.has_value()) throw std::runtime_error(sketch.error().message);
  const auto memory = engine_memory(**file, *sketch, sizes);
  if (!memory.has_value()) throw std::runtime_error(memory.error().message);
  return {*sketch, *memory};
}

double error_percent(double predicted, double found) { return 100 * (predicted - found) / std::max(found, 1.0); }

// For files without a tokeniser, which no engine loads.
void expect_planned_weights(const std::string& path) {
  NobodyListens nobody;
  const auto counted = std::make_shared<Counted>();
  CountingDevice device(nobody, counted);
  auto file = ModelFile::open(open_checkpoint(path).value());
  ASSERT_TRUE(file.has_value());
  const auto model = load_model(*file, device);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const auto head = SequenceHead::load(*file, *find_architecture(*file).value(), device);
  ASSERT_TRUE(head.has_value()) << head.error().message;
  const StateLayout layout = (*model)->state_layout({}).value();
  const EngineMemory memory = plan_for(path, {.context = 256}).memory;
  EXPECT_EQ(memory.weights.allocated(), counted->weights);
  EXPECT_EQ(memory.pages.page, layout.page_bytes);
  EXPECT_EQ(memory.pages.block, layout.block_bytes);
}

// What was planned beside what is there once a text fills the context.
void expect_planned(const std::string& path, std::size_t context, const KvTypes& types = {}) {
  SCOPED_TRACE(path);
  const auto counted = std::make_shared<Counted>();
  const std::size_t rows = std::min<std::size_t>(context / 2, 256);
  const EngineOptions options{.kv_types = types, .context_length = context, .most_sequences = 1, .batch_rows = rows};
  auto engine = load(path, counted, options);
  if (!engine.has_value() && engine.error().message.find("tokenizer.") != std::string::npos) {
    return expect_planned_weights(path);
  }
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  const Plan plan = plan_for(path, {.context = context, .batch_rows = rows, .kv_types = types});
  const EngineMemory& memory = plan.memory;
  EXPECT_EQ(memory.weights.allocated(), counted->weights);
  EXPECT_EQ(memory.pages.block, (*engine)->state_layout().block_bytes);
  EXPECT_EQ(memory.pages.page, (*engine)->state_layout().page_bytes);

  const bool reads_whole = !plan.sketch.is_causal;
  const auto session = (*engine)->open_session();
  const std::size_t pass = reads_whole ? context : rows;
  for (std::size_t done = 0; done < context || done < 2 * pass; done += pass) {
    Task<Result<void>> task = read_rows(*session, pass, reads_whole, plan.sketch.has_head);
    task.start();
    ASSERT_TRUE((*engine)->run().has_value());
    const auto result = task.take();
    ASSERT_TRUE(result.has_value()) << result.error().message;
  }
  // Recurrent layers take as many blocks as the text's length gives reason to.
  const std::uint64_t most = memory.pages.block * memory.pages.blocks;
  const std::uint64_t fixed =
      memory.pages.page * memory.pages.pages + memory.scratch.activations + memory.scratch.logits;
  const double total = static_cast<double>(counted->weights + counted->live);
  const double with_fewest = static_cast<double>(memory.weights.allocated() + fixed + memory.pages.block);
  EXPECT_LE(error_percent(with_fewest, total), 1.0) << memory.scratch.activations << " of " << counted->live;
  EXPECT_GE(error_percent(with_fewest + static_cast<double>(most), total), -1.0)
      << memory.pages.page * memory.pages.pages << " + " << memory.scratch.activations << " + " << memory.scratch.logits
      << " of " << counted->live;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool is_model = entry.path().extension() == ".gguf" || std::filesystem::exists(entry.path() / "config.json");
    if (is_model) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

TEST(EngineMemory, EveryFixtureTakesWhatWasPlanned) {
  for (const std::string& path : files_in(PLM_GOLDEN "/oracle")) expect_planned(path, 128);
}

TEST(EngineMemory, EveryFolderTakesWhatWasPlanned) {
  for (const std::string& path : files_in(PLM_GOLDEN "/huggingface")) expect_planned(path, 128);
}

TEST(EngineMemory, ShippedModelsTakeWhatWasPlanned) {
  for (const std::string& path : files_in(PLM_MODELS)) {
    expect_planned(path, 512);
    expect_planned(path, 512, quant_f16);
  }
}

TEST(EngineMemory, RealModelsTakeWhatWasPlanned) {
  const char* home = std::getenv("HOME");
  const std::string cache = std::string(home != nullptr ? home : "") + "/.cache/plm/";
  bool is_there = false;
  for (const char* name : {"smollm2-135m.gguf", "gemma-3-270m.gguf"}) {
    if (!std::filesystem::exists(cache + name)) continue;
    is_there = true;
    expect_planned(cache + name, 512, quant_q8_0);
  }
  if (!is_there) GTEST_SKIP() << "no fetched models";
}

}  // namespace
}  // namespace plm
