// Wall time for statistics. Never read by anything that decides an output.
#pragma once

#include <chrono>

namespace plm {

/// Milliseconds since construction or the last `restart`.
class Stopwatch {
 public:
  [[nodiscard]] double elapsed_ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace plm
