#include "serve/engine_worker.h"

#include <algorithm>
#include <utility>

namespace plm {
namespace {

constexpr int kLookAgainMs = 100;  // while all that waits waits for a client to go or a sequence to come free

std::size_t sequences_of(const GenerationRequest& request) {
  return !request.negative_prompt.empty() && request.guidance_scale != 1 ? 2 : 1;
}

Error going_down() { return {ErrorKind::interrupted, "the server is going down"}; }

}  // namespace

EngineWorker::EngineWorker(Engine& engine, const Limits& limits) : engine_(engine), limits_(limits) {
  for (std::size_t i = 0; i < limits.sequences; ++i) slots_.push_back({.id = i});
  thread_ = std::thread([this] { work(); });
}

EngineWorker::~EngineWorker() {
  {
    const std::lock_guard lock(mutex_);
    is_draining_ = is_stopping_ = true;
  }
  something_new_.notify_all();
  thread_.join();
}

Result<void> EngineWorker::refusal(std::size_t count) const {
  if (is_draining_) return tl::unexpected<Error>(going_down());
  // A request alone is never too large: its own limits say what is.
  const std::size_t waiting = waiting_.size() + tasks_.size();
  if (waiting == 0 || waiting + count <= limits_.waiting) return {};
  return fail(ErrorKind::no_room, "{} texts wait already, at most {} may; try again later", waiting, limits_.waiting);
}

Result<void> EngineWorker::add(std::vector<TextOrder> orders) {
  {
    const std::lock_guard lock(mutex_);
    PLM_TRY(refusal(orders.size()));
    for (const TextOrder& order : orders) {
      if (sequences_of(order.request) <= limits_.sequences) continue;
      return fail(ErrorKind::usage, "guidance_scale: needs two sequences, the server has {}; raise --parallel",
                  limits_.sequences);
    }
    for (TextOrder& order : orders) waiting_.push_back({std::move(order), {}});
  }
  something_new_.notify_all();
  return {};
}

Result<void> EngineWorker::add(WorkerTask task) {
  {
    const std::lock_guard lock(mutex_);
    PLM_TRY(refusal(1));
    tasks_.push_back(std::move(task));
  }
  something_new_.notify_all();
  return {};
}

void EngineWorker::drain() {
  const std::lock_guard lock(mutex_);
  is_draining_ = true;
}

EngineWorker::Occupancy EngineWorker::occupancy() const {
  const std::lock_guard lock(mutex_);
  const auto busy = std::ranges::count(slots_, true, &Slot::is_busy);
  return {static_cast<std::size_t>(busy), waiting_.size() + tasks_.size()};
}

std::vector<EngineWorker::Slot> EngineWorker::slots() const {
  const std::lock_guard lock(mutex_);
  return slots_;
}

void EngineWorker::work() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto has_work = [this] { return is_stopping_ || !waiting_.empty() || !tasks_.empty(); };
      if (running_.empty()) {
        something_new_.wait(lock, has_work);
      } else {  // a text that waits for nothing: it ended between two looks
        something_new_.wait_for(lock, std::chrono::milliseconds(kLookAgainMs), has_work);
      }
    }
    if (between_batches()) break;
    const Result<void> ran = engine_.run([this] { return between_batches(); });
    if (!ran.has_value()) fail_all(ran.error());
    if (between_batches()) break;
  }
  fail_all(going_down());
}

// True: the engine is to stop.
bool EngineWorker::between_batches() {
  let_go();
  start_waiting();
  if (!is_in_task_) run_tasks();
  show_slots();
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

// Texts that are finished, and those that nobody waits for any more.
void EngineWorker::let_go() {
  const auto is_over = [this](Running& text) {
    const bool is_done = text.generation->done();
    if (!is_done && text.sink->is_wanted()) return false;
    const Result<DecodeOutcome> outcome =
        is_done ? text.generation->take() : fail(ErrorKind::interrupted, "the client is gone");
    text.generation.reset();  // first, so that what it leaves is there for who comes next
    sequences_in_use_ -= text.sequences;
    text.sink->ended(text.index, outcome);
    return true;
  };
  std::erase_if(running_, is_over);
}

void EngineWorker::start_waiting() {
  while (true) {
    std::optional<Waiting> next;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_ || waiting_.empty()) return;
      const std::size_t needed = sequences_of(waiting_.front().order.request);
      if (waiting_.front().order.sink->is_wanted() && sequences_in_use_ + needed > limits_.sequences) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    start(*std::move(next));
  }
}

void EngineWorker::start(Waiting waiting) {
  TextOrder& order = waiting.order;
  if (!order.sink->is_wanted()) {
    order.sink->ended(order.index, fail(ErrorKind::interrupted, "the client is gone"));
    return;
  }
  const std::size_t sequences = sequences_of(order.request);
  order.request.listener = [sink = order.sink, index = order.index](const Event& event) {
    sink->on_event(index, event);
  };
  // A text that needs no pass is written whole before `start` comes back, so its beginning is told first.
  auto generation = engine_.start(std::move(order.request));
  if (!generation.has_value()) {
    order.sink->ended(order.index, tl::unexpected<Error>(generation.error()));
    return;
  }
  order.sink->started(order.index, **generation, waiting.since_added.elapsed_ms());
  const auto is_free = [this](const Slot& slot) {
    return std::ranges::none_of(running_, [&](const Running& text) { return text.slot == slot.id; });
  };
  const std::size_t slot = static_cast<std::size_t>(std::ranges::find_if(slots_, is_free) - slots_.begin());
  sequences_in_use_ += sequences;
  running_.push_back({*std::move(generation), order.sink, order.index, sequences, slot});
}

// Tasks run batches themselves, in which the texts go on; during one, between_batches is called from inside it.
void EngineWorker::run_tasks() {
  while (true) {
    WorkerTask task;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_ || tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    is_in_task_ = true;
    task(engine_, [this] { return between_batches(); });
    is_in_task_ = false;
  }
}

void EngineWorker::fail_all(const Error& error) {
  for (Running& text : std::exchange(running_, {})) {
    const bool is_done = text.generation->done();
    const Result<DecodeOutcome> outcome = is_done ? text.generation->take() : tl::unexpected<Error>(error);
    text.generation.reset();
    text.sink->ended(text.index, outcome);
  }
  sequences_in_use_ = 0;
  std::deque<Waiting> waiting;
  std::deque<WorkerTask> tasks;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) {
      waiting.swap(waiting_);
      tasks.swap(tasks_);
    }
  }
  for (const Waiting& one : waiting) one.order.sink->ended(one.order.index, tl::unexpected<Error>(error));
  is_in_task_ = true;
  for (const WorkerTask& task : tasks) task(engine_, [] { return true; });
  is_in_task_ = false;
  show_slots();
}

void EngineWorker::show_slots() {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) slot.is_busy = false;
  for (const Running& text : running_) {
    if (text.slot >= slots_.size()) continue;
    slots_[text.slot].is_busy = true;
    slots_[text.slot].read_tokens = text.generation->state_length();
  }
}

}  // namespace plm
