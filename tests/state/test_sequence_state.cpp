#include "state/sequence_state.h"

#include <gtest/gtest.h>

#include <random>

#include "state/host_memory.h"

namespace plm {
namespace {

// One byte a cell stands for everything a device would store there.
class SequenceStateTest : public testing::Test {
 protected:
  void append(SequenceState& state, const std::vector<std::uint8_t>& cells) {
    std::vector<PageCopy> copies;
    ASSERT_TRUE(state.reserve(cells.size(), copies).has_value());
    for (const PageCopy& copy : copies) {
      static_cast<HostStorage&>(*copy.to).content = static_cast<const HostStorage&>(*copy.from).content;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t cell = state.length() + i;
      static_cast<HostStorage*>(state.storages()[cell / kPageCells])->content[cell % kPageCells] = std::byte{cells[i]};
    }
    state.keep(cells.size());
  }

  static std::vector<std::uint8_t> content(const SequenceState& state) {
    std::vector<std::uint8_t> cells;
    for (std::size_t cell = 0; cell < state.length(); ++cell) {
      cells.push_back(static_cast<std::uint8_t>(
          static_cast<HostStorage*>(state.storages()[cell / kPageCells])->content[cell % kPageCells]));
    }
    return cells;
  }

  HostMemory memory_;
  PagePool pool_{memory_, kPageCells, 64};
};

TEST_F(SequenceStateTest, ForkSharesUntilOneWrites) {
  SequenceState first(pool_);
  append(first, std::vector<std::uint8_t>(300, 1));
  SequenceState second = first.fork();
  EXPECT_EQ(pool_.pages_in_use(), 2U);
  append(second, {2});
  EXPECT_EQ(pool_.pages_in_use(), 3U) << "only the half-filled page is copied";
  EXPECT_EQ(first.storages()[0], second.storages()[0]);
  append(first, {3});
  EXPECT_EQ(pool_.pages_in_use(), 3U) << "the last owner writes in place";
  EXPECT_EQ(content(first).back(), 3);
  EXPECT_EQ(content(second).back(), 2);
}

// A copy that has not run yet owns no page: the last of several forks that reserve for one batch stays where it is.
TEST_F(SequenceStateTest, ForksThatReserveTogetherNeedOnePageEach) {
  PagePool small(memory_, kPageCells, 3);
  SequenceState first(small);
  append(first, std::vector<std::uint8_t>(40, 1));
  SequenceState second = first.fork(), third = first.fork();
  std::vector<PageCopy> copies;
  for (SequenceState* state : {&first, &second, &third}) EXPECT_TRUE(state->reserve(1, copies).has_value());
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].from, third.storages()[0]);
  EXPECT_EQ(copies[0].to, first.storages()[0]);
  EXPECT_EQ(copies[1].from, third.storages()[0]);
  EXPECT_EQ(copies[1].to, second.storages()[0]);
}

TEST_F(SequenceStateTest, TruncateGivesPagesBack) {
  SequenceState state(pool_);
  append(state, std::vector<std::uint8_t>(600, 7));
  state.truncate(256);
  EXPECT_EQ(pool_.pages_in_use(), 1U);
  state.truncate(0);
  EXPECT_EQ(pool_.pages_in_use(), 0U);
}

TEST_F(SequenceStateTest, AFailedReserveChangesNothing) {
  PagePool small(memory_, kPageCells, 1);
  SequenceState state(small);
  std::vector<PageCopy> copies;
  ASSERT_TRUE(state.reserve(10, copies).has_value());
  state.keep(10);
  EXPECT_FALSE(state.reserve(300, copies).has_value());
  EXPECT_EQ(state.length(), 10U);
  EXPECT_EQ(state.storages().size(), 1U);
  EXPECT_TRUE(state.reserve(246, copies).has_value());
}

// Any history of appends, truncations and forks leaves each sequence with what a plain list would hold.
TEST_F(SequenceStateTest, BehavesLikeAListUnderRandomHistories) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<SequenceState> states;
    std::vector<std::vector<std::uint8_t>> lists(1);
    states.emplace_back(pool_);
    for (int step = 0; step < 60; ++step) {
      const std::size_t chosen = random() % states.size();
      const unsigned action = random() % 4;
      if (action == 0 && states.size() < 4) {
        states.push_back(states[chosen].fork());
        lists.push_back(lists[chosen]);
      } else if (action == 1) {
        const std::size_t length = random() % (lists[chosen].size() + 1);
        states[chosen].truncate(length);
        lists[chosen].resize(length);
      } else {
        const std::vector<std::uint8_t> cells(random() % 200, static_cast<std::uint8_t>(random()));
        append(states[chosen], cells);
        lists[chosen].insert(lists[chosen].end(), cells.begin(), cells.end());
      }
    }
    for (std::size_t i = 0; i < states.size(); ++i) EXPECT_EQ(content(states[i]), lists[i]);
  }
  EXPECT_EQ(pool_.pages_in_use(), 0U);
}

}  // namespace
}  // namespace plm
