// The engine's Session: one sequence's state, its place in the scheduler's queue, and its listener.
//
// With recurrent layers a state cannot go back to every length. The session then goes back further, to where it can,
// and remembers the tokens in between: the scheduler computes them again before the next pass. By the numerics contract
// (DESIGN section 4) that gives the same bits, so nobody above sees a difference but the time.
// Tested by tests/engine/test_scheduler.cpp.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>
#include <vector>

#include "decode/session.h"
#include "engine/scheduler.h"
#include "state/sequence_state.h"

namespace plm {

class EngineSession : public Session {
 public:
  /// `past`: the tokens that `state` is of.
  EngineSession(Scheduler& scheduler, SequenceState state, std::span<const TokenId> past, std::size_t context_length,
                Listener listener)
      : scheduler_(scheduler),
        state_(std::move(state)),
        context_length_(context_length),
        listener_(std::move(listener)) {
    if (state_.recurrent() == nullptr) return;
    PLM_CHECK(past.size() == state_.length());
    for (const TokenId token : past) past_.push_back({token, static_cast<std::uint32_t>(past_.size())});
  }
  ~EngineSession() override { scheduler_.remove(*this); }
  EngineSession(const EngineSession&) = delete;
  EngineSession& operator=(const EngineSession&) = delete;

  [[nodiscard]] std::size_t state_length() const override {
    return state_.recurrent() != nullptr ? past_.size() : state_.length();
  }
  void truncate_state(std::size_t length) override {
    PLM_CHECK(length <= state_length());
    if (state_.recurrent() != nullptr) past_.resize(length);
    state_.truncate(state_.reachable(length));
  }
  [[nodiscard]] std::size_t context_length() const override { return context_length_; }
  void emit(const Event& event) override {
    if (listener_) listener_(event);
  }

  /// Of the first state().length() cells of the text, after a step back perhaps not of all.
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

  struct Cell {
    TokenId token;
    std::uint32_t position;
  };

  // Counts the rows [first, first + count) of a pass as remembered.
  void remember(const PassRequest& request, std::size_t first, std::size_t count) {
    const auto base = static_cast<std::uint32_t>(state_.length());
    state_.keep(count);
    if (state_.recurrent() == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t counted = base + static_cast<std::uint32_t>(i);
      const std::uint32_t position = request.positions.empty() ? counted : request.positions[first + i];
      past_.push_back({request.tokens[first + i], position});
    }
  }

  Scheduler& scheduler_;
  SequenceState state_;
  std::vector<Cell> past_;  // with recurrent layers: what the state is of, and what must be computed again
  std::size_t context_length_;
  Listener listener_;
  std::optional<Waiting> waiting_;
};

}  // namespace plm
