#include "decode/canvas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/philox.h"

namespace plm {
namespace {

TEST(Canvas, ACellKeepsItsIdWhileOthersComeAndGo) {
  Canvas canvas;
  const CellId first = canvas.append_given(10);
  const CellId last = canvas.append_given(11);
  const CellId between = canvas.insert_open(1, 99);
  EXPECT_EQ(canvas.position_of(first), 0U);
  EXPECT_EQ(canvas.position_of(between), 1U);
  EXPECT_EQ(canvas.position_of(last), 2U);
  EXPECT_EQ(canvas.tokens(), (std::vector<TokenId>{10, 99, 11}));

  canvas.commit(between, 50);
  EXPECT_EQ(canvas.at(1).status, CellStatus::committed);
  canvas.replace(between, 51);
  EXPECT_EQ(canvas.at(1).token, 51);
  canvas.revoke(between, 98);
  EXPECT_EQ(canvas.at(1).status, CellStatus::open);
  canvas.show(between, 97);
  EXPECT_EQ(canvas.tokens(), (std::vector<TokenId>{10, 97, 11}));
  canvas.erase(between);
  EXPECT_EQ(canvas.position_of(last), 1U);
  EXPECT_NE(canvas.append_open(99), between) << "an id is never used again";
}

TEST(Canvas, GivenCellsCannotBeTouchedAndOnlyOpenOnesCommitted) {
  Canvas canvas;
  const CellId given = canvas.append_given(1);
  const CellId open = canvas.append_open(0);
  EXPECT_DEATH(canvas.commit(given, 2), "broken invariant");
  EXPECT_DEATH(canvas.replace(given, 2), "broken invariant");
  EXPECT_DEATH(canvas.revoke(given, 2), "broken invariant");
  EXPECT_DEATH(canvas.show(given, 2), "broken invariant");
  EXPECT_DEATH(canvas.erase(given), "broken invariant");
  EXPECT_DEATH(canvas.replace(open, 2), "broken invariant");
  canvas.commit(open, 2);
  EXPECT_DEATH(canvas.commit(open, 3), "broken invariant");
  canvas.erase(open);
  EXPECT_DEATH(canvas.show(open, 3), "broken invariant");
}

TEST(Canvas, KnowsFromWhereStoredStateIsStale) {
  Canvas canvas;
  std::vector<CellId> cells;
  for (TokenId token = 0; token < 8; ++token) cells.push_back(canvas.append_open(token));
  EXPECT_EQ(canvas.stale_from(), 0U);
  canvas.refreshed(8);
  EXPECT_EQ(canvas.stale_from(), 8U);
  canvas.append_open(8);
  EXPECT_EQ(canvas.stale_from(), 8U) << "a new cell has no state yet";
  canvas.refreshed(9);
  canvas.show(cells[5], 50);
  EXPECT_EQ(canvas.stale_from(), 5U);
  canvas.refreshed(4);
  EXPECT_EQ(canvas.stale_from(), 5U) << "what lies before was never in doubt";
  canvas.refreshed(7);
  EXPECT_EQ(canvas.stale_from(), 7U);
  canvas.erase(cells[2]);
  EXPECT_EQ(canvas.stale_from(), 2U) << "everything after moved";
}

// Whatever happens, ids, order and staleness are those of a plain list that is searched from the front.
TEST(Canvas, BehavesLikeAListUnderRandomEdits) {
  struct Entry {
    CellId id;
    CellStatus status;
    TokenId token;
    bool is_fresh;
  };
  for (std::uint32_t round = 0; round < 30; ++round) {
    Canvas canvas;
    std::vector<Entry> list;
    const auto stale_after = [&](std::size_t position) {
      for (std::size_t i = position; i < list.size(); ++i) list[i].is_fresh = false;
    };
    const auto drawn = [&](std::uint32_t step, std::uint32_t draw, std::size_t below) {
      const double u = uniform({.seed = 3, .candidate = round, .cell = step, .draw = draw});
      return static_cast<std::size_t>(u * static_cast<double>(below));
    };
    for (std::uint32_t step = 0; step < 200; ++step) {
      const std::size_t action = drawn(step, 0, 8);
      const auto token = static_cast<TokenId>(drawn(step, 1, 1000));
      const std::size_t at = drawn(step, 2, list.size() + 1);
      if (action <= 2 || at == list.size()) {
        const bool is_given = action == 0;
        const std::size_t place = is_given ? list.size() : at;
        const CellId id = is_given ? canvas.append_given(token) : canvas.insert_open(place, token);
        const CellStatus status = is_given ? CellStatus::given : CellStatus::open;
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), {id, status, token, false});
        stale_after(place);
      } else if (action == 3) {
        canvas.refreshed(at);
        for (std::size_t i = 0; i < at; ++i) list[i].is_fresh = true;
      } else if (list[at].status == CellStatus::given) {
        continue;
      } else if (action == 4) {
        canvas.erase(list[at].id);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
        stale_after(at);
      } else {
        Entry& entry = list[at];
        entry.token = token;
        if (entry.status == CellStatus::open && action == 5) {
          canvas.show(entry.id, token);
        } else if (entry.status == CellStatus::open) {
          canvas.commit(entry.id, token);
          entry.status = CellStatus::committed;
        } else if (action == 6) {
          canvas.replace(entry.id, token);
        } else {
          canvas.revoke(entry.id, token);
          entry.status = CellStatus::open;
        }
        stale_after(at);
      }
    }
    ASSERT_EQ(canvas.size(), list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(canvas.at(i).id, list[i].id);
      EXPECT_EQ(canvas.at(i).status, list[i].status);
      EXPECT_EQ(canvas.at(i).token, list[i].token);
      EXPECT_EQ(canvas.position_of(list[i].id), i);
    }
    const auto stale = std::find_if(list.begin(), list.end(), [](const Entry& entry) { return !entry.is_fresh; });
    EXPECT_EQ(canvas.stale_from(), static_cast<std::size_t>(stale - list.begin()));
  }
}

}  // namespace
}  // namespace plm
