#include "base/thread_team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "base/error.h"

namespace plm {
namespace {

constexpr int kSpins = 4000;  // some tens of microseconds, about one fused stage of a small model

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins, then sleeps, until `value` differs from `old`.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ProcessorList allowed_processors() {
  ProcessorList list;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return list;
  // Logical processors that share (package, core) are one physical core.
  std::set<std::pair<std::string, std::string>> cores;
  std::vector<int> siblings;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::string package = "0";
    std::string core = std::to_string(cpu);
    std::ifstream(folder + "physical_package_id") >> package;
    std::ifstream(folder + "core_id") >> core;
    (cores.emplace(package, core).second ? list.numbers : siblings).push_back(cpu);
  }
  list.cores = list.numbers.size();
  list.numbers.insert(list.numbers.end(), siblings.begin(), siblings.end());
  return list;
}

int physical_core_count() {
  return std::clamp(static_cast<int>(allowed_processors().cores), 1, ThreadTeam::kMostThreads);
}

ThreadTeam::ThreadTeam(int threads, bool is_pinned) : size_(threads) {
  PLM_CHECK(threads >= 1 && threads <= kMostThreads);
  const ProcessorList processors = is_pinned ? allowed_processors() : ProcessorList{};
  for (int member = 1; member < size_; ++member) {
    std::thread& thread = threads_.emplace_back([this, member] { serve(member); });
    if (processors.numbers.size() < static_cast<std::size_t>(size_)) continue;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processors.numbers[static_cast<std::size_t>(member)], &only);
    pthread_setaffinity_np(thread.native_handle(), sizeof only, &only);  // a refusal only costs speed
  }
}

ThreadTeam::~ThreadTeam() {
  stopping_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run(const std::function<void(int)>& work) {
  work_ = &work;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  work(0);
  barrier();
}

void ThreadTeam::serve(int member) {
  std::uint32_t seen = 0;
  while (true) {
    wait_for_change(round_, seen);
    ++seen;
    if (stopping_.load(std::memory_order_relaxed)) return;
    (*work_)(member);
    barrier();
  }
}

void ThreadTeam::barrier() {
  if (size_ == 1) return;
  const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
  } else {
    wait_for_change(phase_, phase);
  }
}

}  // namespace plm
