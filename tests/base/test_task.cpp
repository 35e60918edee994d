#include "base/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace plm {
namespace {

// Where coroutines wait until the test lets one go on, as the scheduler does with passes.
struct Gate {
  std::vector<std::coroutine_handle<>> waiting;

  struct Awaiter {
    Gate* gate;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const { gate->waiting.push_back(handle); }
    void await_resume() const noexcept {}
  };
  Awaiter operator co_await() noexcept { return Awaiter{this}; }

  void open_one() {
    const auto handle = waiting.front();
    waiting.erase(waiting.begin());
    handle.resume();
  }
};

// Counts the objects of its kind that are alive: the locals of a frame.
struct Local {
  explicit Local(int& count) : alive(count) { ++alive; }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
  ~Local() { --alive; }
  int& alive;
};

Task<int> constant(int value, bool* started = nullptr) {
  if (started != nullptr) *started = true;
  co_return value;
}

Task<int> nested(int depth) {
  if (depth == 0) co_return 0;
  const int below = co_await nested(depth - 1);
  co_return below + 1;
}

Task<int> waits_times(Gate& gate, int times, int& alive) {
  const Local local(alive);
  for (int i = 0; i < times; ++i) co_await gate;
  co_return times;
}

template <typename T>
T finished(Task<T> task) {
  task.start();
  EXPECT_TRUE(task.done());
  return task.take();
}

TEST(Task, IsLazy) {
  bool started = false;
  Task<int> task = constant(7, &started);
  EXPECT_FALSE(started);
  EXPECT_FALSE(task.done());
  task.start();
  EXPECT_TRUE(started);
  EXPECT_TRUE(task.done());
  EXPECT_EQ(task.take(), 7);
  { const Task<int> never_started = constant(8); }
  EXPECT_FALSE(Task<int>().done());
}

TEST(Task, NestsDeeplyWithoutGrowingTheStackOnReturn) { EXPECT_EQ(finished(nested(2000)), 2000); }

TEST(Task, CarriesMoveOnlyAndLargeValues) {
  const auto make = []() -> Task<std::unique_ptr<std::string>> { co_return std::make_unique<std::string>(1000, 'x'); };
  const auto outer = [&]() -> Task<std::size_t> {
    const std::unique_ptr<std::string> text = co_await make();
    co_return text->size();
  };
  EXPECT_EQ(finished(outer()), 1000U);
}

TEST(Task, MovingHandsOverTheFrame) {
  Task<int> first = constant(1);
  Task<int> second = std::move(first);
  second.start();
  first = constant(2);
  first.start();
  EXPECT_EQ(second.take(), 1);
  EXPECT_EQ(first.take(), 2);
  first = std::move(second);  // destroys its own frame
  EXPECT_TRUE(first.done());
}

TEST(Task, ExceptionsReachTheOneWhoWaits) {
  const auto thrower = []() -> Task<void> {
    throw std::runtime_error("inner");
    co_return;
  };
  const auto catcher = [&]() -> Task<std::string> {
    std::string caught;
    try {
      co_await thrower();
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    co_return caught;
  };
  EXPECT_EQ(finished(catcher()), "inner");
  EXPECT_THROW(finished(thrower()), std::runtime_error);
}

TEST(Task, SuspendsWithAllItsCallersAndGoesOn) {
  Gate gate;
  int alive = 0;
  const auto outer = [&]() -> Task<int> {
    const Local local(alive);
    int sum = co_await waits_times(gate, 2, alive);
    sum += co_await waits_times(gate, 1, alive);
    co_return sum;
  };
  Task<int> task = outer();
  EXPECT_EQ(alive, 0);
  task.start();
  for (int step = 0; step < 3; ++step) {
    EXPECT_FALSE(task.done());
    EXPECT_EQ(alive, 2);
    ASSERT_EQ(gate.waiting.size(), 1U);
    gate.open_one();
  }
  EXPECT_TRUE(task.done());
  EXPECT_EQ(task.take(), 3);
  EXPECT_EQ(alive, 0);
}

TEST(Task, SeveralChildrenWaitAtOnce) {
  Gate gate;
  int alive = 0;
  const auto parent = [&]() -> Task<int> {
    std::vector<Task<int>> children;
    for (int times = 1; times <= 3; ++times) children.push_back(waits_times(gate, times, alive));
    for (Task<int>& child : children) child.start();
    while (!gate.waiting.empty()) gate.open_one();
    int sum = 0;
    for (Task<int>& child : children) sum += child.take();
    co_return sum;
  };
  EXPECT_EQ(finished(parent()), 6);
  EXPECT_EQ(alive, 0);
}

// Cancellation: dropping a suspended task at any of its waits destroys every local on the way, and nothing else runs.
TEST(Task, DestroyingASuspendedFrameDestroysItsLocals) {
  for (int waits_before = 0; waits_before < 4; ++waits_before) {
    Gate gate;
    int alive = 0;
    bool went_on = false;
    const auto outer = [&]() -> Task<void> {
      const Local local(alive);
      const auto buffer = std::make_unique<std::string>(1000, 'x');
      Task<int> other = waits_times(gate, 9, alive);  // a second child, waiting as well
      other.start();
      co_await waits_times(gate, 5, alive);
      went_on = true;
    };
    {
      Task<void> task = outer();
      task.start();
      for (int i = 0; i < waits_before; ++i) gate.open_one();
      EXPECT_EQ(alive, 3);
    }
    EXPECT_EQ(alive, 0) << waits_before;
    EXPECT_FALSE(went_on);
  }
}

TEST(Task, AssigningCancelsWhatWasThere) {
  Gate gate;
  int alive = 0;
  Task<int> task = waits_times(gate, 1, alive);
  task.start();
  EXPECT_EQ(alive, 1);
  task = constant(3);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(finished(std::move(task)), 3);
}

}  // namespace
}  // namespace plm
