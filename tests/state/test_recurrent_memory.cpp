#include "state/recurrent_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "state/host_memory.h"
#include "state/sequence_state.h"
#include "tensor/page.h"

namespace plm {
namespace {

// A recurrence that cannot be undone: the block holds a hash of all cells, and their number.
class RecurrentMemoryTest : public testing::Test {
 protected:
  using Cells = std::vector<std::uint8_t>;
  struct Content {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    bool operator==(const Content&) const = default;
  };

  static Content& content(Storage* block) {
    return *reinterpret_cast<Content*>(static_cast<HostStorage*>(block)->content.data());
  }
  static void add(Content& content, std::uint8_t cell) {
    content.hash = (content.hash ^ cell) * 0x9e3779b97f4a7c15U + 1;
    ++content.count;
  }
  static Content content_of(const Cells& cells) {
    Content content;
    for (const std::uint8_t cell : cells) add(content, cell);
    return content;
  }

  // What a pass does with a reserved state; returns what its block holds afterwards.
  static Content run(SequenceState& state, const Cells& cells, const std::vector<PageCopy>& copies) {
    for (const PageCopy& copy : copies) {
      static_cast<HostStorage&>(*copy.to).content = static_cast<const HostStorage&>(*copy.from).content;
    }
    const RecurrentMemory& memory = *state.recurrent();
    Content& now = content(memory.block());
    if (memory.length() == 0) now = {};
    auto save = memory.saves().begin();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      add(now, cells[i]);
      if (save == memory.saves().end() || save->length != memory.length() + i + 1) continue;
      content(save->to) = now;
      ++save;
    }
    EXPECT_EQ(save, memory.saves().end()) << "a save of a length that the pass does not reach";
    return now;
  }

  static Content append(SequenceState& state, const Cells& cells) {
    std::vector<PageCopy> copies;
    EXPECT_TRUE(state.reserve(cells.size(), copies).has_value());
    const Content now = run(state, cells, copies);
    state.keep(cells.size());
    return now;
  }

  [[nodiscard]] SequenceState state() { return SequenceState(StatePools{pages_, &blocks_}); }

  HostMemory memory_;
  PagePool pages_{memory_, kPageCells, 256};
  PagePool blocks_{memory_, sizeof(Content), 256};
};

TEST_F(RecurrentMemoryTest, RowsThatAreForgottenChangeACopy) {
  SequenceState sequence = state();
  const Cells cells{1, 2, 3};
  append(sequence, cells);
  std::vector<PageCopy> copies;
  ASSERT_TRUE(sequence.reserve(2, copies, CellUse::forgotten).has_value());
  EXPECT_EQ(run(sequence, {4, 5}, copies), content_of({1, 2, 3, 4, 5}));
  const std::size_t blocks = blocks_.pages_in_use();
  sequence.discard();
  EXPECT_EQ(blocks_.pages_in_use(), blocks - 1);
  EXPECT_EQ(append(sequence, {6}), content_of({1, 2, 3, 6}));
}

TEST_F(RecurrentMemoryTest, CheckpointsStandAtBordersAndBeforeTheLastRow) {
  SequenceState sequence = state();
  append(sequence, Cells(100, 1));
  EXPECT_EQ(sequence.reachable(100), 100U);
  EXPECT_EQ(sequence.reachable(1000), 100U);
  EXPECT_EQ(sequence.reachable(99), 99U);
  EXPECT_EQ(sequence.reachable(98), 0U);
  for (int i = 0; i < 200; ++i) append(sequence, {2});
  EXPECT_EQ(sequence.reachable(299), kPageCells);
  EXPECT_EQ(sequence.reachable(255), 99U);
  sequence.truncate(99);
  EXPECT_EQ(sequence.reachable(98), 0U);
  EXPECT_EQ(append(sequence, {3}).count, 100U);
}

// However long a text grows, the way from a checkpoint to the length that was asked for is no longer than a share of
// the way back.
TEST_F(RecurrentMemoryTest, ThereAreFewCheckpointsAndTheyAreSpreadWell) {
  SequenceState sequence = state();
  for (std::size_t length = 0; length < 64 * kPageCells;) {
    const std::size_t count = std::min<std::size_t>(200, 64 * kPageCells - length);
    append(sequence, Cells(count, 1));
    length += count;
    EXPECT_LE(sequence.recurrent()->checkpoint_count(), RecurrentMemory::kMostCheckpoints);
    EXPECT_LE(blocks_.pages_in_use(), RecurrentMemory::kMostBlocks);
    EXPECT_EQ(sequence.reachable(length - 1), length - 1);
  }
  const std::size_t end = sequence.length();
  for (std::size_t back = 1; back < end; back *= 2) {
    EXPECT_LE(end - back - sequence.reachable(end - back), 5 * (back + kPageCells)) << back;
  }
}

TEST_F(RecurrentMemoryTest, WithoutRoomForCheckpointsThereAreNone) {
  PagePool one(memory_, sizeof(Content), 1);
  SequenceState sequence(StatePools{pages_, &one});
  EXPECT_EQ(append(sequence, {1, 2, 3}), content_of({1, 2, 3}));
  EXPECT_EQ(sequence.reachable(2), 0U);
  SequenceState fork = sequence.fork();
  std::vector<PageCopy> copies;
  const auto refused = fork.reserve(1, copies);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::no_room);
  EXPECT_TRUE(copies.empty());
  fork.truncate(0);
  EXPECT_EQ(append(sequence, {4}), content_of({1, 2, 3, 4}));
}

// Any history of appends, thrown-away rows, steps back and forks leaves what a plain list would.
TEST_F(RecurrentMemoryTest, RandomHistoriesLoseNothing) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<SequenceState> states;
    std::vector<Cells> lists(1);
    states.push_back(state());
    for (int step = 0; step < 80; ++step) {
      const std::size_t chosen = random() % states.size();
      SequenceState& sequence = states[chosen];
      Cells& list = lists[chosen];
      const unsigned action = random() % 6;
      const Cells cells(1 + random() % (action == 5 ? 400 : 3), static_cast<std::uint8_t>(random()));
      Cells longer = list;
      longer.insert(longer.end(), cells.begin(), cells.end());
      if (action == 0 && states.size() < 4) {
        SequenceState fork = sequence.fork();
        Cells copy = list;
        states.push_back(std::move(fork));
        lists.push_back(std::move(copy));
      } else if (action == 1) {
        const std::size_t length = sequence.reachable(random() % (list.size() + 1));
        sequence.truncate(length);
        list.resize(length);
      } else if (action == 2) {
        std::vector<PageCopy> copies;
        ASSERT_TRUE(sequence.reserve(cells.size(), copies, CellUse::forgotten).has_value());
        EXPECT_EQ(run(sequence, cells, copies), content_of(longer));
        sequence.discard();
      } else {
        EXPECT_EQ(append(sequence, cells), content_of(longer));
        list = longer;
      }
    }
  }
  EXPECT_EQ(blocks_.pages_in_use(), 0U);
}

}  // namespace
}  // namespace plm
