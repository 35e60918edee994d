// A Session whose network reads whole pages: a function says what it would put at each position of the tokens shown.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "decode/session.h"

namespace plm {

class PageSession : public Session {
 public:
  /// The logits at `position` of a page that shows `tokens`, all those remembered among them.
  using Network = std::function<std::vector<float>(std::span<const TokenId> tokens, std::size_t position)>;

  PageSession(Network network, std::size_t context_length)
      : network_(std::move(network)), context_length_(context_length) {}

  std::vector<Event> events;
  std::size_t passes = 0;

  /// Answers passes; whether the decoder ended within so many.
  bool serve(std::size_t most) {
    for (; waiter_ != nullptr; ++passes) {
      if (passes == most) return false;
      std::exchange(waiter_, nullptr).resume();
    }
    return true;
  }

  [[nodiscard]] std::size_t state_length() const override { return stored_.size(); }
  void truncate_state(std::size_t length) override { stored_.resize(length); }
  [[nodiscard]] std::size_t context_length() const override { return context_length_; }
  void emit(const Event& event) override { events.push_back(event); }

 protected:
  void submit(const PassRequest& request, std::coroutine_handle<> waiter) override {
    request_ = &request;
    waiter_ = waiter;
  }
  Result<PassAnswer> take_answer() override {
    std::vector<TokenId> tokens = stored_;
    tokens.insert(tokens.end(), request_->tokens.begin(), request_->tokens.end());
    PassAnswer answer;
    for (const Yield& yield : request_->yields) {
      std::vector<float> logits = network_(tokens, stored_.size() + yield.row);
      if (yield.without >= 0) logits[static_cast<std::size_t>(yield.without)] = kNever;
      answer.statistics.push_back(statistics_of(logits));
      answer.results.emplace_back();
      if (yield.kind == YieldKind::logits) answer.results.back().values = std::move(logits);
    }
    if (request_->state == StateUse::append) stored_ = std::move(tokens);
    return answer;
  }

 private:
  static constexpr float kNever = -std::numeric_limits<float>::infinity();

  static RowStatistics statistics_of(std::span<const float> logits) {
    RowStatistics statistics{.max = kNever, .second = kNever};
    for (std::size_t id = 0; id < logits.size(); ++id) {
      if (std::isnan(logits[id])) statistics.bad = 1;
      if (logits[id] > statistics.max) {
        statistics.second = std::exchange(statistics.max, logits[id]);
        statistics.argmax = static_cast<std::int32_t>(id);
      } else {
        statistics.second = std::max(statistics.second, logits[id]);
      }
    }
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double{logit} - statistics.max);
    statistics.log_sum_exp = static_cast<float>(statistics.max + std::log(sum));
    return statistics;
  }

  Network network_;
  std::size_t context_length_;
  std::vector<TokenId> stored_;
  const PassRequest* request_ = nullptr;
  std::coroutine_handle<> waiter_ = nullptr;
};

}  // namespace plm
