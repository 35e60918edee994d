// A fixed team of threads that runs one function on all members, with a barrier among them.
//
// The caller is member 0. Waiting spins for a while and then sleeps (futex through std::atomic::wait), so an idle team
// costs nothing and a busy one pays about a hundred nanoseconds per barrier.
// Work is cut by member index only; no result may depend on the number of members (DESIGN section 4).
// Tested by tests/base/test_thread_team.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace plm {

/// Logical processors that this process may run on: first one of each physical core, then their siblings.
struct ProcessorList {
  std::vector<int> numbers;
  std::size_t cores = 0;  ///< so many of the first lie on cores of their own
};
[[nodiscard]] ProcessorList allowed_processors();
/// Physical cores this process may run on; at least 1.
[[nodiscard]] int physical_core_count();

class ThreadTeam {
 public:
  static constexpr int kMostThreads = 512;

  /// `is_pinned`: every thread but the caller's stays on a processor of its own, if there are enough of them.
  explicit ThreadTeam(int threads, bool is_pinned = false);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] int size() const { return size_; }

  /// Runs `work(member)` on every member and returns when all are done. Not to be called from within.
  void run(const std::function<void(int member)>& work);

  /// Waits for all members. To be called by every member the same number of times inside `run`.
  void barrier();

 private:
  void serve(int member);

  const int size_;
  std::vector<std::thread> threads_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<std::uint32_t> round_{0};    // counts calls of run
  alignas(64) std::atomic<std::uint32_t> arrived_{0};  // members at the barrier
  alignas(64) std::atomic<std::uint32_t> phase_{0};    // counts barriers
};

/// The half-open range of `count` items that falls to `member` of `members`, in multiples of `grain`.
struct Share {
  std::size_t begin, end;
};
[[nodiscard]] inline Share share_of(std::size_t count, int member, int members, std::size_t grain = 1) {
  const std::size_t grains = (count + grain - 1) / grain;
  const auto m = static_cast<std::size_t>(member);
  const auto n = static_cast<std::size_t>(members);
  const std::size_t begin = grains * m / n * grain;
  const std::size_t end = grains * (m + 1) / n * grain;
  return {begin < count ? begin : count, end < count ? end : count};
}

}  // namespace plm
