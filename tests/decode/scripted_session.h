// A Session without a machine: a function stands for the network, and a test answers each pass when it likes.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "decode/session.h"

namespace plm {

class ScriptedSession : public Session {
 public:
  /// The logits of a row that sees these tokens, its own the last.
  using Network = std::function<std::vector<float>(std::span<const TokenId> seen)>;

  ScriptedSession(Network network, std::size_t context_length)
      : network_(std::move(network)), context_length_(context_length) {}

  /// A pass as it was asked for.
  struct Pass {
    std::vector<TokenId> tokens;
    StateUse state;
    Sight sight;
    std::vector<Yield> yields;
  };
  std::vector<Pass> passes;
  std::vector<Event> events;
  std::vector<TokenId> stored;  ///< what the state remembers

  [[nodiscard]] bool is_waiting() const { return waiter_ != nullptr; }

  /// Answers the pass that waits and lets the decoder run on.
  void serve() {
    const std::coroutine_handle<> waiter = waiter_;
    prepare();
    waiter.resume();
  }
  /// Answers it for a decoder that is resumed by another session.
  void prepare() {
    PassAnswer answer;
    for (const Yield& yield : request_->yields) {
      std::vector<TokenId> seen = stored;
      seen.insert(seen.end(), request_->tokens.begin(), request_->tokens.begin() + yield.row + 1);
      const std::vector<float> logits = network_(seen);
      answer.statistics.push_back(statistics_of(logits));
      answer.results.emplace_back();
      if (yield.kind == YieldKind::logits) answer.results.back().values = logits;
    }
    if (request_->state == StateUse::append) {
      stored.insert(stored.end(), request_->tokens.begin(), request_->tokens.end());
    }
    answer_ = std::move(answer);
    waiter_ = nullptr;
  }
  void serve_all() {
    while (is_waiting()) serve();
  }
  /// Lets the pass that waits fail.
  void refuse(Error error) { resume_with(tl::unexpected<Error>(std::move(error))); }

  [[nodiscard]] std::size_t state_length() const override { return stored.size(); }
  void truncate_state(std::size_t length) override { stored.resize(length); }
  [[nodiscard]] std::size_t context_length() const override { return context_length_; }
  void emit(const Event& event) override { events.push_back(event); }

 protected:
  void submit(const PassRequest& request, std::coroutine_handle<> waiter) override {
    passes.push_back({{request.tokens.begin(), request.tokens.end()},
                      request.state,
                      request.sight,
                      {request.yields.begin(), request.yields.end()}});
    request_ = &request;
    waiter_ = waiter;
  }
  Result<PassAnswer> take_answer() override { return std::move(*answer_); }

 private:
  static RowStatistics statistics_of(const std::vector<float>& logits) {
    RowStatistics statistics;
    const auto best = std::max_element(logits.begin(), logits.end());
    statistics.argmax = static_cast<std::int32_t>(best - logits.begin());
    statistics.max = *best;
    for (const float logit : logits) {
      if (std::isnan(logit) || logit == HUGE_VALF) statistics.bad = 1;
    }
    return statistics;
  }

  void resume_with(Result<PassAnswer> answer) {
    answer_ = std::move(answer);
    std::exchange(waiter_, nullptr).resume();
  }

  Network network_;
  std::size_t context_length_;
  const PassRequest* request_ = nullptr;
  std::coroutine_handle<> waiter_ = nullptr;
  std::optional<Result<PassAnswer>> answer_;
};

}  // namespace plm
