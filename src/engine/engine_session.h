// The engine's Session: one sequence's state, its place in the scheduler's queue, and its listener.
// Tested by tests/engine/test_scheduler.cpp.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

#include "decode/session.h"
#include "engine/scheduler.h"
#include "state/sequence_state.h"

namespace plm {

class EngineSession : public Session {
 public:
  EngineSession(Scheduler& scheduler, SequenceState state, std::size_t context_length, Listener listener)
      : scheduler_(scheduler),
        state_(std::move(state)),
        context_length_(context_length),
        listener_(std::move(listener)) {}
  ~EngineSession() override { scheduler_.remove(*this); }
  EngineSession(const EngineSession&) = delete;
  EngineSession& operator=(const EngineSession&) = delete;

  [[nodiscard]] std::size_t state_length() const override { return state_.length(); }
  void truncate_state(std::size_t length) override { state_.truncate(length); }
  [[nodiscard]] std::size_t context_length() const override { return context_length_; }
  void emit(const Event& event) override {
    if (listener_) listener_(event);
  }

  [[nodiscard]] SequenceState& state() { return state_; }

 protected:
  void submit(const PassRequest& request, std::coroutine_handle<> waiter) override {
    waiting_ = Waiting{&request, waiter, 0, {}, std::nullopt};
    scheduler_.add(*this);
  }
  Result<PassAnswer> take_answer() override {
    Waiting finished = std::move(*waiting_);
    waiting_.reset();
    if (finished.error.has_value()) return tl::unexpected<Error>(std::move(*finished.error));
    return std::move(finished.answer);
  }

 private:
  friend class Scheduler;

  // The pass in progress.
  struct Waiting {
    const PassRequest* request;
    std::coroutine_handle<> waiter;
    std::size_t rows_done;
    PassAnswer answer;
    std::optional<Error> error;
  };

  Scheduler& scheduler_;
  SequenceState state_;
  std::size_t context_length_;
  Listener listener_;
  std::optional<Waiting> waiting_;
};

}  // namespace plm
