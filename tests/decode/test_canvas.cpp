#include "decode/canvas.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// A canvas beside a plain list that is searched from the front; every edit is made in both.
class Twins {
 public:
  void insert(std::size_t position, CellStatus status, TokenId token) {
    const bool is_given = status == CellStatus::given;
    const CellId id = is_given ? canvas_.append_given(token) : canvas_.insert_open(position, token);
    list_.insert(list_.begin() + static_cast<std::ptrdiff_t>(position), {{id, status, token}, false});
    stale_from(position);
  }
  void refresh(std::size_t position) {
    canvas_.refreshed(position);
    for (std::size_t i = 0; i < position; ++i) list_[i].is_fresh = true;
  }
  void erase(std::size_t position) {
    canvas_.erase(list_[position].cell.id);
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(position));
    stale_from(position);
  }
  // Changes the cell in one of the two ways that its status allows.
  void change(std::size_t position, bool changes_status, TokenId token) {
    Cell& cell = list_[position].cell;
    const bool was_open = cell.status == CellStatus::open;
    cell.token = token;
    if (changes_status) {
      cell.status = was_open ? CellStatus::committed : CellStatus::open;
      was_open ? canvas_.commit(cell.id, token) : canvas_.revoke(cell.id, token);
    } else {
      was_open ? canvas_.show(cell.id, token) : canvas_.replace(cell.id, token);
    }
    stale_from(position);
  }

  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] bool is_given(std::size_t position) const { return list_[position].cell.status == CellStatus::given; }

  void expect_equal() const {
    ASSERT_EQ(canvas_.size(), list_.size());
    for (std::size_t i = 0; i < list_.size(); ++i) {
      EXPECT_EQ(canvas_.at(i).id, list_[i].cell.id);
      EXPECT_EQ(canvas_.at(i).status, list_[i].cell.status);
      EXPECT_EQ(canvas_.at(i).token, list_[i].cell.token);
      EXPECT_EQ(canvas_.position_of(list_[i].cell.id), i);
    }
    const auto stale = std::find_if(list_.begin(), list_.end(), [](const Entry& entry) { return !entry.is_fresh; });
    EXPECT_EQ(canvas_.stale_from(), static_cast<std::size_t>(stale - list_.begin()));
  }

 private:
  struct Entry {
    Cell cell;
    bool is_fresh;  // its state fits
  };
  void stale_from(std::size_t position) {
    for (std::size_t i = position; i < list_.size(); ++i) list_[i].is_fresh = false;
  }

  Canvas canvas_;
  std::vector<Entry> list_;
};

TEST(Canvas, BehavesLikeAListUnderRandomEdits) {
  for (std::uint32_t round = 0; round < 30; ++round) {
    Twins twins;
    for (std::uint32_t step = 0; step < 200; ++step) {
      const auto drawn = [&](std::uint32_t draw, std::size_t below) {
        const double u = uniform({.seed = 3, .candidate = round, .cell = step, .draw = draw});
        return static_cast<std::size_t>(u * static_cast<double>(below));
      };
      const auto token = static_cast<TokenId>(drawn(0, 1000));
      const std::size_t at = drawn(1, twins.size() + 1);
      const std::size_t action = drawn(2, 8);
      if (action == 0) {
        twins.insert(twins.size(), CellStatus::given, token);
      } else if (action <= 2 || at == twins.size()) {
        twins.insert(at, CellStatus::open, token);
      } else if (action == 3) {
        twins.refresh(at);
      } else if (twins.is_given(at)) {
        continue;
      } else if (action == 4) {
        twins.erase(at);
      } else {
        twins.change(at, action != 5, token);
      }
    }
    twins.expect_equal();
  }
}

}  // namespace
}  // namespace plm
