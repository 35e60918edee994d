// Counts of what the server does, in the text format of Prometheus. Thread-safe. Tested by
// tests/serve/test_metrics.cpp.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "serve/dialect.h"

namespace plm {

class Metrics {
 public:
  /// A request was answered.
  void count_request(std::string_view dialect, int status);
  /// A text ended.
  void count_text(const TextResult& text);
  void count_gone();  ///< a client left before its answer was whole

  [[nodiscard]] ServerView::Totals totals() const;
  /// All of it, with what is going on at the moment.
  [[nodiscard]] std::string text(const EngineWorker::Occupancy& occupancy) const;

 private:
  /// Upper bounds in seconds of a histogram; the last bucket has none.
  static constexpr std::array<double, 10> kBounds = {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  struct Histogram {
    std::array<std::uint64_t, kBounds.size() + 1> buckets{};
    double sum_s = 0;
    void add(double seconds);
    void write(std::string& out, std::string_view name, std::string_view help) const;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;  // by dialect and status
  std::uint64_t gone_ = 0, cached_tokens_ = 0;
  ServerView::Totals totals_;
  Histogram queue_s_, first_token_s_, text_s_;
};

}  // namespace plm
