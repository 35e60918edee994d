#include "decode/event_replay.h"

#include <gtest/gtest.h>

#include <set>

#include "base/philox.h"

namespace plm {
namespace {

void expect_equal(const Canvas& a, const Canvas& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a.at(i).id, b.at(i).id);
    EXPECT_EQ(a.at(i).status, b.at(i).status);
    EXPECT_EQ(a.at(i).token, b.at(i).token);
  }
}

TEST(EventReplay, EveryKindDoesItsPart) {
  const std::vector<TokenId> prompt{7, 8};
  EventReplay replay(prompt);
  EXPECT_EQ(replay.canvas().tokens(), prompt);
  EXPECT_EQ(replay.reason(), FinishReason::none);
  replay.apply({.kind = EventKind::inserted, .cell = 2, .token = kNoToken, .position = 2});
  replay.apply({.kind = EventKind::pass_ran, .rows = 2});
  replay.apply({.kind = EventKind::proposed, .cell = 2, .token = 5});
  EXPECT_EQ(replay.canvas().at(2).status, CellStatus::open) << "a proposal changes nothing";
  replay.apply({.kind = EventKind::committed, .cell = 2, .token = 5});
  replay.apply({.kind = EventKind::inserted, .cell = 3, .token = 9, .position = 1});
  EXPECT_EQ(replay.canvas().tokens(), (std::vector<TokenId>{7, 9, 8, 5}));
  replay.apply({.kind = EventKind::replaced, .cell = 2, .token = 6});
  replay.apply({.kind = EventKind::deleted, .cell = 3});
  EXPECT_EQ(replay.canvas().tokens(), (std::vector<TokenId>{7, 8, 6}));
  replay.apply({.kind = EventKind::revoked, .cell = 2, .token = 0});
  EXPECT_EQ(replay.canvas().at(2).status, CellStatus::open);
  replay.apply({.kind = EventKind::stable_prefix, .text = "one "});
  replay.apply({.kind = EventKind::stable_prefix, .text = "two"});
  replay.apply({.kind = EventKind::finished, .reason = FinishReason::stop});
  EXPECT_EQ(replay.text(), "one two");
  EXPECT_EQ(replay.reason(), FinishReason::stop);
}

// A writer that edits at random and tells of it; the listener ends with the same canvas.
TEST(EventReplay, RebuildsTheCanvasOfAnyEditor) {
  for (std::uint32_t round = 0; round < 20; ++round) {
    const std::vector<TokenId> prompt(round % 4, 1);
    Canvas canvas;
    for (const TokenId token : prompt) canvas.append_given(token);
    EventReplay replay(prompt);
    for (std::uint32_t step = 0; step < 150; ++step) {
      const auto drawn = [&](std::uint32_t draw, std::size_t below) {
        const double u = uniform({.seed = 8, .candidate = round, .cell = step, .draw = draw});
        return static_cast<std::size_t>(u * static_cast<double>(below));
      };
      const auto token = static_cast<TokenId>(drawn(0, 100));
      const std::size_t position = drawn(1, canvas.size() + 1);
      if (position == canvas.size() || drawn(2, 3) == 0) {
        const CellId id = canvas.insert_open(position, token);
        replay.apply({.kind = EventKind::inserted, .cell = id, .token = token, .position = position});
        continue;
      }
      const Cell cell = canvas.at(position);
      if (cell.status == CellStatus::given) continue;
      if (drawn(3, 5) == 0) {
        canvas.erase(cell.id);
        replay.apply({.kind = EventKind::deleted, .cell = cell.id});
      } else if (cell.status == CellStatus::open) {
        canvas.commit(cell.id, token);
        replay.apply({.kind = EventKind::committed, .cell = cell.id, .token = token});
      } else if (drawn(4, 2) == 0) {
        canvas.replace(cell.id, token);
        replay.apply({.kind = EventKind::replaced, .cell = cell.id, .token = token});
      } else {
        canvas.revoke(cell.id, token);
        replay.apply({.kind = EventKind::revoked, .cell = cell.id, .token = token});
      }
    }
    expect_equal(replay.canvas(), canvas);
  }
}

TEST(EventReplay, EveryFinishReasonHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const FinishReason reason : {FinishReason::none, FinishReason::end_of_text, FinishReason::stop,
                                    FinishReason::length, FinishReason::context, FinishReason::interrupted}) {
    EXPECT_TRUE(names.insert(finish_reason_name(reason)).second);
  }
}

}  // namespace
}  // namespace plm
