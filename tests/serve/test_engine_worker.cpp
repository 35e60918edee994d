#include "serve/engine_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "engine/embedding.h"
#include "engine/engine_runs.h"

namespace plm {
namespace {

const std::string kTwin = std::string(PLM_MODELS) + "/twin-ar.gguf";

class RecordingSink : public TextSink {
 public:
  bool is_wanted() const override { return wanted; }
  void started(std::size_t /*index*/, const Generation& /*generation*/, double /*waited_ms*/) override { ++starts; }
  void on_event(std::size_t /*index*/, const Event& event) override {
    if (event.kind != EventKind::stable_prefix) return;
    const std::lock_guard lock(mutex_);
    text_ += event.text;
    changed_.notify_all();
  }
  void ended(std::size_t /*index*/, const Result<DecodeOutcome>& outcome) override {
    const std::lock_guard lock(mutex_);
    error = outcome.has_value() ? "" : outcome.error().message;
    ++ends;
    changed_.notify_all();
  }
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends > 0; });
    return text_;
  }
  void wait_for_text() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !text_.empty() || ends > 0; });
  }

  std::atomic<bool> wanted = true;
  std::atomic<int> starts = 0, ends = 0;
  std::string error;  // of the text that ended; empty: none

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

TextOrder order(const Engine& engine, const std::shared_ptr<TextSink>& sink, std::size_t most_tokens) {
  GenerationRequest request{.prompt = encoded(engine, "A385+739="), .max_tokens = most_tokens};
  request.ignore_end = most_tokens > 100;
  return {std::move(request), sink, 0};
}

std::unique_ptr<Engine> engine_for(std::size_t sequences) {
  return load_engine(kTwin, {.context_length = 4096, .most_sequences = sequences + 1});
}

TEST(EngineWorker, WritesWhatItIsHanded) {
  const auto engine = engine_for(2);
  EngineWorker worker(*engine, {.sequences = 2, .waiting = 16});
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (int i = 0; i < 10; ++i) {
    sinks.push_back(std::make_shared<RecordingSink>());
    ASSERT_TRUE(worker.add({order(*engine, sinks.back(), 20)}).has_value());
  }
  for (const auto& sink : sinks) {
    EXPECT_EQ(sink->wait(), "1124");
    EXPECT_EQ(sink->starts, 1);
    EXPECT_EQ(sink->error, "");
  }
}

TEST(EngineWorker, LetsGoOfWhatNobodyWants) {
  const auto engine = engine_for(1);
  EngineWorker worker(*engine, {.sequences = 1, .waiting = 16});
  const auto endless = std::make_shared<RecordingSink>(), waiting = std::make_shared<RecordingSink>();
  ASSERT_TRUE(worker.add({order(*engine, endless, 3000)}).has_value());
  endless->wait_for_text();
  ASSERT_TRUE(worker.add({order(*engine, waiting, 3000)}).has_value());
  waiting->wanted = false;
  waiting->wait();
  EXPECT_EQ(waiting->starts, 0) << "it was gone before its turn, and costs nothing";
  endless->wanted = false;
  endless->wait();
  EXPECT_NE(endless->error, "");
  const auto next = std::make_shared<RecordingSink>();
  ASSERT_TRUE(worker.add({order(*engine, next, 20)}).has_value());
  EXPECT_EQ(next->wait(), "1124");
}

TEST(EngineWorker, TasksRunWhileTextsGoOn) {
  const auto engine = engine_for(1);
  EngineWorker worker(*engine, {.sequences = 1, .waiting = 16});
  const auto endless = std::make_shared<RecordingSink>();
  ASSERT_TRUE(worker.add({order(*engine, endless, 4000)}).has_value());
  endless->wait_for_text();
  std::promise<std::size_t> embedded;
  const auto task = [&](Engine& owned, const std::function<bool()>& interrupted) {
    const std::vector<std::string> texts = {"one", "two"};
    const auto vectors = embed(owned, texts, {}, {.interrupted = interrupted});
    embedded.set_value(vectors.has_value() ? vectors->size() : 0);
  };
  ASSERT_TRUE(worker.add(WorkerTask(task)).has_value());
  EXPECT_EQ(embedded.get_future().get(), 2U);
  EXPECT_EQ(endless->ends, 0) << "the text was not waited for";
  endless->wanted = false;
  endless->wait();
}

TEST(EngineWorker, RefusesWhenTooMuchWaits) {
  const auto engine = engine_for(1);
  EngineWorker worker(*engine, {.sequences = 1, .waiting = 1});
  const auto endless = std::make_shared<RecordingSink>(), second = std::make_shared<RecordingSink>();
  ASSERT_TRUE(worker.add({order(*engine, endless, 3000)}).has_value());
  endless->wait_for_text();
  ASSERT_TRUE(worker.add({order(*engine, second, 3000)}).has_value());
  const auto refused = worker.add({order(*engine, std::make_shared<RecordingSink>(), 5)});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::no_room);
  worker.drain();
  EXPECT_EQ(worker.add({order(*engine, second, 5)}).error().kind, ErrorKind::interrupted);
  endless->wanted = second->wanted = false;
  endless->wait();
  second->wait();
}

TEST(EngineWorker, EndsWhatIsUnderWayWhenItGoes) {
  const auto engine = engine_for(1);
  const auto endless = std::make_shared<RecordingSink>(), waiting = std::make_shared<RecordingSink>();
  {
    EngineWorker worker(*engine, {.sequences = 1, .waiting = 16});
    ASSERT_TRUE(worker.add({order(*engine, endless, 3000)}).has_value());
    ASSERT_TRUE(worker.add({order(*engine, waiting, 3000)}).has_value());
    endless->wait_for_text();
  }
  EXPECT_EQ(endless->ends, 1);
  EXPECT_EQ(waiting->ends, 1);
  EXPECT_NE(waiting->error, "");
}

TEST(EngineWorker, ARequestThatCannotBeStartedEndsAlone) {
  const auto engine = engine_for(2);
  EngineWorker worker(*engine, {.sequences = 2, .waiting = 16});
  const auto bad = std::make_shared<RecordingSink>(), good = std::make_shared<RecordingSink>();
  ASSERT_TRUE(worker.add({{GenerationRequest{.prompt = {}}, bad, 0}}).has_value());
  ASSERT_TRUE(worker.add({order(*engine, good, 20)}).has_value());
  bad->wait();
  EXPECT_NE(bad->error.find("prompt"), std::string::npos);
  EXPECT_EQ(good->wait(), "1124");
}

}  // namespace
}  // namespace plm
