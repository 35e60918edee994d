#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/scheduled_model.h"

namespace plm {
namespace {

const std::vector<std::uint32_t> kNoRows;

// Bits by which row i of n sees row j when `sees(i, j)`.
template <typename Sees>
std::vector<std::uint64_t> bits_of(std::size_t n, Sees sees) {
  const std::size_t words = (n + 63) / 64;
  std::vector<std::uint64_t> bits(n * words);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (sees(i, j)) bits[i * words + j / 64] |= std::uint64_t{1} << (j % 64);
    }
  }
  return bits;
}

Logits rows_from(const Logits& logits, std::size_t first) {
  return {logits.begin() + static_cast<std::ptrdiff_t>(first), logits.end()};
}

class SchedulerTest : public testing::Test {
 protected:
  std::vector<TokenId> text(std::size_t count, std::uint64_t seed) {
    return some_tokens(count, seed, model_.vocab_size());
  }
  // What the rows give to a sequence that is alone.
  Logits alone(std::vector<TokenId> tokens) {
    const auto session = model_.open();
    return append(model_, *session, std::move(tokens));
  }

  ScheduledModel model_{twin(), {.batch_rows = 16}};
};

TEST_F(SchedulerTest, YieldsComeInOrderThroughEveryCut) {
  const auto tokens = text(50, 1);
  const Logits all = alone(tokens);
  const auto session = model_.open();
  LogitsPass pass(*session, {.tokens = tokens, .rows = std::vector<std::uint32_t>{0, 7, 15, 16, 17, 31, 32, 49}});
  model_.run();
  EXPECT_EQ(session->state_length(), 50U);
  EXPECT_TRUE(equal_bits(pass.take(), {all[0], all[7], all[15], all[16], all[17], all[31], all[32], all[49]}));
}

TEST_F(SchedulerTest, APassWithoutYieldsStillMovesTheState) {
  const auto tokens = text(20, 1);
  const auto session = model_.open();
  LogitsPass pass(*session, {.tokens = {tokens.begin(), tokens.begin() + 19}, .rows = kNoRows});
  model_.run();
  EXPECT_TRUE(pass.take().empty());
  EXPECT_EQ(session->state_length(), 19U);
  EXPECT_TRUE(equal_bits(append(model_, *session, {tokens[19]}), rows_from(alone(tokens), 19)));
}

TEST_F(SchedulerTest, WaitingSessionsTakeTurns) {
  const auto first = model_.open(), second = model_.open(), third = model_.open();
  LogitsPass long_pass(*first, {.tokens = text(100, 1), .rows = kNoRows});
  LogitsPass other_pass(*second, {.tokens = text(100, 2), .rows = kNoRows});
  for (int batch = 1; batch <= 12; ++batch) {
    ASSERT_TRUE(model_.scheduler().step().has_value());
    const auto lengths = std::minmax({first->state_length(), second->state_length()});
    EXPECT_LE(lengths.second - lengths.first, 16U) << "after " << batch << " batches nobody is a whole batch behind";
  }
  LogitsPass short_pass(*third, text(3, 3));
  for (int batch = 0; batch < 3 && !short_pass.is_done(); ++batch) ASSERT_TRUE(model_.scheduler().step().has_value());
  EXPECT_TRUE(short_pass.is_done()) << "a newcomer waits for no whole prompt";
  model_.run();
  EXPECT_TRUE(long_pass.is_done() && other_pass.is_done());
}

TEST_F(SchedulerTest, WhoWritesWaitsForNoPrompt) {
  const auto reader = model_.open(), other_reader = model_.open(), writer = model_.open();
  LogitsPass prompt(*reader, {.tokens = text(200, 1), .rows = kNoRows});
  LogitsPass other_prompt(*other_reader, {.tokens = text(200, 2), .rows = kNoRows});
  for (int batch = 1; batch <= 20; ++batch) {
    LogitsPass token(*writer, text(1, 3));
    ASSERT_TRUE(model_.scheduler().step().has_value());
    EXPECT_TRUE(token.is_done()) << "in batch " << batch;
  }
  EXPECT_EQ(reader->state_length() + other_reader->state_length(), 20U * 15U) << "and the rest of each batch is read";
  model_.run();
}

// As many writers as a batch has rows: prompts are read all the same.
TEST_F(SchedulerTest, ManyWritersStarveNoPrompt) {
  std::vector<std::unique_ptr<EngineSession>> writers;
  for (int i = 0; i < 16; ++i) writers.push_back(model_.open());
  const auto reader = model_.open();
  LogitsPass prompt(*reader, {.tokens = text(40, 1), .rows = kNoRows});
  std::vector<std::unique_ptr<LogitsPass>> tokens(writers.size());
  for (int batch = 0; batch < 30 && !prompt.is_done(); ++batch) {
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (tokens[i] == nullptr || tokens[i]->is_done())
        tokens[i] = std::make_unique<LogitsPass>(*writers[i], text(1, i));
    }
    ASSERT_TRUE(model_.scheduler().step().has_value());
  }
  EXPECT_TRUE(prompt.is_done());
  model_.run();
}

TEST_F(SchedulerTest, ALowerTriangleOfBitsIsCausal) {
  const auto prefix = text(250, 1);  // so that the rows lie on two pages
  const auto rows = text(70, 2);     // so that a row of bits has two words
  const auto causal = model_.open(), by_bits = model_.open();
  append(model_, *causal, prefix);
  append(model_, *by_bits, prefix);
  const Logits expected = append(model_, *causal, rows);
  LogitsPass pass(
      *by_bits,
      {.tokens = rows, .sight = Sight::by_bits, .sight_bits = bits_of(70, [](auto i, auto j) { return j <= i; })});
  model_.run();
  EXPECT_TRUE(equal_bits(pass.take(), expected));
  EXPECT_EQ(by_bits->state_length(), 320U);
  EXPECT_TRUE(equal_bits(append(model_, *by_bits, {5}), append(model_, *causal, {5}))) << "the state is the same too";
}

TEST_F(SchedulerTest, AllBitsAreBidirectional) {
  const auto rows = text(70, 3);
  const auto whole = model_.open(), by_bits = model_.open(), causal = model_.open();
  LogitsPass seen(*whole, {.tokens = rows, .sight = Sight::bidirectional});
  LogitsPass same(
      *by_bits, {.tokens = rows, .sight = Sight::by_bits, .sight_bits = bits_of(70, [](auto, auto) { return true; })});
  LogitsPass other(*causal, rows);
  model_.run();
  const Logits expected = seen.take();
  EXPECT_TRUE(equal_bits(same.take(), expected));
  EXPECT_FALSE(equal_bits(other.take(), expected));
}

TEST_F(SchedulerTest, OneRowSeesTheSameUnderEverySight) {
  const auto prefix = text(30, 4);
  Logits expected = rows_from(alone([&] {
                                auto tokens = prefix;
                                tokens.push_back(9);
                                return tokens;
                              }()),
                              30);
  for (const Sight sight : {Sight::causal, Sight::bidirectional, Sight::by_bits}) {
    for (const StateUse use : {StateUse::append, StateUse::scratch}) {
      const auto session = model_.open();
      append(model_, *session, prefix);
      LogitsPass pass(*session, {.tokens = {9}, .state = use, .sight = sight, .sight_bits = {1}});
      model_.run();
      EXPECT_TRUE(equal_bits(pass.take(), expected));
    }
  }
}

TEST_F(SchedulerTest, ScratchRowsLeaveNoTrace) {
  const auto prefix = text(250, 5), draft = text(20, 6), rest = text(10, 7);
  auto whole = prefix;
  whole.insert(whole.end(), rest.begin(), rest.end());
  auto drafted = prefix;
  drafted.insert(drafted.end(), draft.begin(), draft.end());

  const auto session = model_.open();
  append(model_, *session, prefix);
  for (const Sight sight : {Sight::causal, Sight::bidirectional}) {
    LogitsPass pass(*session, {.tokens = draft, .state = StateUse::scratch, .sight = sight});
    model_.run();
    EXPECT_EQ(session->state_length(), 250U);
    if (sight == Sight::causal) {
      EXPECT_TRUE(equal_bits(pass.take(), rows_from(alone(drafted), 250)));
    }
  }
  EXPECT_TRUE(equal_bits(append(model_, *session, rest), rows_from(alone(whole), 250)));
}

// Two drafts that share their first token, in one pass: each branch sees what it would see alone. Its cells lie
// elsewhere, so sums are rounded otherwise.
TEST_F(SchedulerTest, ATreeOfDraftsGivesWhatEachBranchGivesAlone) {
  const auto prefix = text(40, 8);
  const std::vector<TokenId> left{10, 11, 12}, right{10, 21, 22};
  const std::vector<TokenId> tree{10, 11, 12, 21, 22};  // root, left branch, right branch
  const std::vector<std::size_t> parent{0, 0, 1, 0, 3};
  const auto sees = [&](std::size_t i, std::size_t j) {
    for (std::size_t at = i;; at = parent[at]) {
      if (at == j) return true;
      if (at == 0) return false;
    }
  };
  const auto session = model_.open();
  append(model_, *session, prefix);
  LogitsPass pass(*session, {.tokens = tree,
                             .state = StateUse::scratch,
                             .sight = Sight::by_bits,
                             .sight_bits = bits_of(5, sees),
                             .positions = {40, 41, 42, 41, 42}});
  model_.run();
  const Logits logits = pass.take();
  for (const bool is_left : {true, false}) {
    auto tokens = prefix;
    tokens.insert(tokens.end(), is_left ? left.begin() : right.begin(), is_left ? left.end() : right.end());
    const Logits branch = rows_from(alone(tokens), 40);
    for (std::size_t depth = 0; depth < 3; ++depth) {
      const Logits::value_type& row = logits[depth == 0 || is_left ? depth : depth + 2];
      for (std::size_t id = 0; id < row.size(); ++id) ASSERT_NEAR(row[id], branch[depth][id], 2e-5F);
    }
  }
}

TEST_F(SchedulerTest, APassThatCannotBeCutGoesInWhole) {
  const auto rows = text(50, 9), other = text(40, 10);
  const auto first = model_.open(), second = model_.open(), third = model_.open();
  LogitsPass cut(*first, other);
  LogitsPass whole(*second, {.tokens = rows, .sight = Sight::bidirectional});
  LogitsPass also_cut(*third, other);
  model_.run();
  const Logits expected = alone(other);
  EXPECT_TRUE(equal_bits(cut.take(), expected));
  EXPECT_TRUE(equal_bits(also_cut.take(), expected));

  ScheduledModel wide(twin(), {.batch_rows = 512});
  const auto session = wide.open();
  LogitsPass same(*session, {.tokens = rows, .sight = Sight::bidirectional});
  wide.run();
  EXPECT_TRUE(equal_bits(whole.take(), same.take()));
}

TEST_F(SchedulerTest, OneSessionsLackOfRoomIsNobodyElses) {
  ScheduledModel small(twin(), {.batch_rows = 16, .most_pages = 2});
  const auto tokens = text(200, 11);
  const auto first = small.open(), greedy = small.open();
  LogitsPass fits(*first, tokens);
  LogitsPass too_much(*greedy, {.tokens = text(300, 12), .rows = kNoRows});
  small.run();
  const Error error = too_much.error();
  EXPECT_EQ(error.kind, ErrorKind::no_room);
  EXPECT_NE(error.message.find("all 2 pages"), std::string::npos) << error.message;
  EXPECT_TRUE(equal_bits(fits.take(), alone(tokens)));

  greedy->truncate_state(0);  // gives its page back
  const auto later = small.open();
  EXPECT_TRUE(equal_bits(append(small, *later, text(20, 13)), alone(text(20, 13))));
}

// Forks of a half-filled page that all write in the same batch: as many pages as sequences are enough.
TEST_F(SchedulerTest, ForksNeedNoMorePagesThanSequences) {
  constexpr std::size_t kForks = 5;
  ScheduledModel small(twin(), {.batch_rows = 64, .most_pages = kForks});
  const auto prefix = text(40, 14);
  std::vector<std::unique_ptr<EngineSession>> forks;
  {
    const auto parent = small.open();
    append(small, *parent, prefix);
    for (std::size_t i = 0; i < kForks; ++i) forks.push_back(small.open(parent->state().fork()));
  }
  std::vector<std::unique_ptr<LogitsPass>> passes;
  for (std::size_t i = 0; i < kForks; ++i) passes.push_back(std::make_unique<LogitsPass>(*forks[i], text(3, 20 + i)));
  small.run();
  for (std::size_t i = 0; i < kForks; ++i) {
    auto whole = prefix;
    for (const TokenId token : text(3, 20 + i)) whole.push_back(token);
    EXPECT_TRUE(equal_bits(passes[i]->take(), rows_from(alone(whole), 40))) << i;
  }
}

TEST_F(SchedulerTest, AWaitingSessionMayGo) {
  const auto tokens = text(40, 15);
  const auto stays = model_.open();
  LogitsPass pass(*stays, tokens);
  {
    const auto goes = model_.open();
    LogitsPass dropped(*goes, text(40, 16));
    ASSERT_TRUE(model_.scheduler().step().has_value());
  }
  model_.run();
  EXPECT_TRUE(equal_bits(pass.take(), alone(tokens)));
  EXPECT_EQ(model_.pool().pages_in_use(), 1U);
}

// A decoder that runs on may end others: those that wait as well as those whose passes came back in the same batch.
TEST_F(SchedulerTest, ADecoderMayEndOthersWhenItRunsOn) {
  std::unique_ptr<EngineSession> ready = model_.open(), waiting = model_.open();
  std::unique_ptr<LogitsPass> ready_pass, waiting_pass;
  const auto first = model_.open();
  struct Ender {
    static Task<int> run(Session& session, std::function<void()> end_others) {
      const std::vector<TokenId> tokens{1, 2};
      const PassRequest request{.tokens = tokens};
      const Result<PassAnswer> answer = co_await session.pass(request);
      EXPECT_TRUE(answer.has_value());
      end_others();
      co_return 1;
    }
  };
  const std::function<void()> end_others = [&] {
    ready_pass.reset();
    ready.reset();
    waiting_pass.reset();
    waiting.reset();
  };
  Task<int> ender = Ender::run(*first, end_others);
  ender.start();
  ready_pass = std::make_unique<LogitsPass>(*ready, text(2, 17));
  waiting_pass = std::make_unique<LogitsPass>(*waiting, text(100, 18));
  model_.run();
  EXPECT_TRUE(ender.done());
  EXPECT_EQ(ready, nullptr);
  EXPECT_EQ(waiting, nullptr);
  EXPECT_EQ(model_.pool().pages_in_use(), 1U);
}

}  // namespace
}  // namespace plm
