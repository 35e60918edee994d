// A Session whose network reads whole pages: a function says what it would put at each position of the tokens shown,
// those that are remembered as they were.
#pragma once

#include <algorithm>
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
  std::vector<std::size_t> rows;  ///< of each pass

  /// Answers passes; whether the decoder ended within so many.
  bool serve(std::size_t most) {
    for (; waiter_ != nullptr; ++passes) {
      if (passes == most) return false;
      std::exchange(waiter_, nullptr).resume();
    }
    return true;
  }

  [[nodiscard]] std::size_t state_length() const override { return stored_.size(); }
  void truncate_state(std::size_t length) override {
    stored_.erase(stored_.begin() + static_cast<std::ptrdiff_t>(length), stored_.end());
  }
  [[nodiscard]] std::size_t context_length() const override { return context_length_; }
  void emit(const Event& event) override { events.push_back(event); }

 protected:
  void submit(const PassRequest& request, std::coroutine_handle<> waiter) override {
    request_ = &request;
    waiter_ = waiter;
  }
  Result<PassAnswer> take_answer() override {
    std::vector<Cell> cells(stored_.begin() + static_cast<std::ptrdiff_t>(request_->seen_from), stored_.end());
    std::vector<Cell> fresh;
    for (std::size_t row = 0; row < request_->tokens.size(); ++row) {
      const std::size_t counted = stored_.size() + row;
      fresh.push_back({request_->positions.empty() ? counted : request_->positions[row], request_->tokens[row]});
    }
    rows.push_back(fresh.size());
    cells.insert(cells.end(), fresh.begin(), fresh.end());
    // Rows by bits may stand at one position together; they are read as they come.
    const bool is_by_bits = request_->sight == Sight::by_bits;
    if (!is_by_bits) std::ranges::sort(cells, {}, &Cell::position);
    std::vector<TokenId> tokens;
    for (const Cell& cell : cells) tokens.push_back(cell.token);
    PassAnswer answer;
    for (const Yield& yield : request_->yields) {
      std::vector<float> logits = network_(tokens, is_by_bits ? stored_.size() + yield.row : fresh[yield.row].position);
      if (yield.without >= 0) logits[static_cast<std::size_t>(yield.without)] = kNever;
      answer.statistics.push_back(statistics_of(logits));
      answer.results.emplace_back();
      if (yield.kind == YieldKind::logits) answer.results.back().values = std::move(logits);
    }
    if (request_->state == StateUse::append) stored_.insert(stored_.end(), fresh.begin(), fresh.end());
    return answer;
  }

 private:
  struct Cell {
    std::size_t position;
    TokenId token;
  };
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
  std::vector<Cell> stored_;
  const PassRequest* request_ = nullptr;
  std::coroutine_handle<> waiter_ = nullptr;
};

}  // namespace plm
