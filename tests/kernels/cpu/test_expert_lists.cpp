#include "kernels/cpu/expert_lists.h"

#include <gtest/gtest.h>

#include <set>

namespace plm {
namespace {

Floats view_of(std::vector<float>& numbers, std::size_t columns) {
  return {numbers.data(), numbers.size() / columns, columns, columns};
}

TEST(ExpertLists, RowsAreSortedByExpertAndFoundAgain) {
  // Four rows, two choices each, of five experts; the weights behind them do not matter. Nobody chooses expert 2.
  std::vector<float> routing{4, 0, 9, 9, 0, 1, 9, 9, 4, 3, 9, 9, 1, 4, 9, 9};
  ExpertLists lists;
  lists.reserve(4, 2, 5);
  lists.fill(view_of(routing, 4), 5);
  const std::vector<std::vector<std::size_t>> expected{{0, 1}, {1, 3}, {}, {2}, {0, 2, 3}};
  for (std::size_t e = 0; e < 5; ++e) {
    const Share places = lists.places_of_expert(e);
    std::vector<std::size_t> rows;
    for (std::size_t p = places.begin; p < places.end; ++p) rows.push_back(lists.row_at(p));
    EXPECT_EQ(rows, expected[e]) << e;
  }
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 2; ++c) {
      const std::size_t place = lists.place_of(r, c);
      const Share places = lists.places_of_expert(static_cast<std::size_t>(routing[4 * r + c]));
      EXPECT_EQ(lists.row_at(place), r);
      EXPECT_TRUE(place >= places.begin && place < places.end);
    }
  }
}

TEST(ExpertLists, ASmallerPassFollowsALargerOne) {
  std::vector<float> large{0, 1, 2, 3, 4, 5, 6, 7}, small{1, 1};
  ExpertLists lists;
  lists.reserve(4, 1, 8);
  lists.fill(view_of(large, 2), 8);
  lists.reserve(1, 1, 2);
  lists.fill(view_of(small, 2), 2);
  EXPECT_EQ(lists.places_of_expert(0).end, 0U);
  EXPECT_EQ(lists.places_of_expert(1).end, 1U);
  EXPECT_EQ(lists.place_of(0, 0), 0U);
}

TEST(ExpertLists, EveryPanelOfEveryChosenExpertFallsToOneMember) {
  std::vector<float> routing;
  for (std::size_t r = 0; r < 50; ++r) routing.insert(routing.end(), {static_cast<float>(r % 7 * r % 11), 1});
  ExpertLists lists;
  lists.reserve(50, 1, 12);
  lists.fill(view_of(routing, 2), 12);
  for (const int members : {1, 2, 3, 8, 64}) {
    std::multiset<std::pair<std::size_t, std::size_t>> panels;
    std::size_t most = 0;
    for (int member = 0; member < members; ++member) {
      std::size_t cost = 0;
      lists.for_each_share(9, member, members, [&](std::size_t expert, Share places, Share share) {
        EXPECT_EQ(places.begin, lists.places_of_expert(expert).begin);
        EXPECT_GT(places.end, places.begin);
        for (std::size_t p = share.begin; p < share.end; ++p) panels.emplace(expert, p);
        cost += (share.end - share.begin) * (places.end - places.begin + 4);
      });
      most = std::max(most, cost);
    }
    std::size_t expected = 0, total = 0, largest = 0;
    for (std::size_t e = 0; e < 12; ++e) {
      const std::size_t rows = lists.places_of_expert(e).end - lists.places_of_expert(e).begin;
      expected += rows > 0 ? 9 : 0;
      total += rows > 0 ? 9 * (rows + 4) : 0;
      largest = std::max(largest, rows + 4);
    }
    EXPECT_EQ(panels.size(), expected) << members;
    EXPECT_EQ(std::set(panels.begin(), panels.end()).size(), expected) << members;
    EXPECT_LE(most, total / static_cast<std::size_t>(members) + largest) << members;
  }
}

}  // namespace
}  // namespace plm
