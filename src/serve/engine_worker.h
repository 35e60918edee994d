// The thread that owns the engine. Everybody else hands it texts and tasks; between two batches it lets go of texts
// that nobody wants any more and starts those that wait, so that newcomers join while others are being written.
//
// Texts are started in the order they came, as many at a time as the engine has sequences for; a client that was gone
// before its turn costs nothing. What a text is told (its sink) happens on this thread. A request is taken in whole or
// refused at once, when too much waits. Tested by tests/serve/test_engine_worker.cpp.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"

namespace plm {

/// Who is told of the texts of one request.
class TextSink {
 public:
  virtual ~TextSink() = default;
  /// Whether anybody still waits for the answer. Asked between batches, from the engine's thread.
  [[nodiscard]] virtual bool is_wanted() const = 0;
  /// The text begins.
  virtual void started(std::size_t index, const Generation& generation, double waited_ms) = 0;
  virtual void on_event(std::size_t index, const Event& event) = 0;
  /// Once for every text, also for one that never began; nothing follows.
  virtual void ended(std::size_t index, const Result<DecodeOutcome>& outcome) = 0;
};

struct TextOrder {
  GenerationRequest request;  ///< its listener is set here; what it points to the sink keeps alive
  std::shared_ptr<TextSink> sink;
  std::size_t index = 0;
};

/// Work that is no text; runs on the engine's thread while texts go on, one at a time.
using WorkerTask = std::function<void(Engine& engine, const std::function<bool()>& interrupted)>;

class EngineWorker {
 public:
  struct Limits {
    std::size_t sequences = 8;  ///< of the engine's, that texts may have at a time
    std::size_t waiting = 64;   ///< texts and tasks
  };
  struct Occupancy {
    std::size_t running = 0, waiting = 0;
  };
  /// One text in work, for people who look.
  struct Slot {
    std::size_t id = 0;
    bool is_busy = false;
    std::size_t prompt_tokens = 0, read_tokens = 0, written_tokens = 0;
  };

  /// The engine's thread begins. The engine must outlive the worker.
  EngineWorker(Engine& engine, const Limits& limits);
  /// Ends what is under way with `interrupted`.
  ~EngineWorker();

  /// Takes all or none. Errors: no_room (too much waits), interrupted (the server is going down).
  Result<void> add(std::vector<TextOrder> orders);
  Result<void> add(WorkerTask task);

  /// From now on `add` refuses; what was taken in goes on.
  void drain();
  [[nodiscard]] Occupancy occupancy() const;
  [[nodiscard]] std::vector<Slot> slots() const;

 private:
  struct Waiting {
    TextOrder order;
    Stopwatch since_added;
  };
  struct Running {
    std::unique_ptr<Generation> generation;
    std::shared_ptr<TextSink> sink;
    std::size_t index, sequences, slot;
  };

  void work();
  bool between_batches();
  void let_go();
  void start_waiting();
  void start(Waiting waiting);
  void run_tasks();
  void fail_all(const Error& error);
  void show_slots();
  Result<void> refusal(std::size_t count) const;

  Engine& engine_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable something_new_;
  std::deque<Waiting> waiting_;
  std::deque<WorkerTask> tasks_;
  std::vector<Slot> slots_;
  bool is_draining_ = false, is_stopping_ = false;

  // Of the engine's thread only.
  std::vector<Running> running_;
  std::size_t sequences_in_use_ = 0;
  bool is_in_task_ = false;

  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace plm
