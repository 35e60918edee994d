#include "cli/page_view.h"

#include <gtest/gtest.h>

#include "decode/tiny_vocabulary.h"

namespace plm {
namespace {

constexpr std::array<TokenId, 2> kGiven = {kAB, kC};

// What a screen shows, the line of counts left out.
std::string plain(const PageView& view, std::size_t rows = 24, std::size_t columns = 80) {
  std::string text;
  auto lines = view.frame({rows, columns}, false);
  lines.pop_back();
  for (const FrameLine& line : lines) text += line.bytes + "|";
  return text;
}

Event event(EventKind kind, std::size_t position, TokenId token = kNoToken, double probability = 0) {
  return {.kind = kind, .token = token, .position = position, .probability = probability};
}

// Four open cells behind the given ones.
PageView opened(std::size_t shown_from = 2) {
  PageView view(tiny_vocabulary(), kGiven, shown_from);
  for (std::size_t at = 2; at < 6; ++at) view.on_event(event(EventKind::inserted, at));
  view.on_event({.kind = EventKind::pass_ran});
  return view;
}

TEST(PageView, ShowsWhatIsDecidedBetweenBlocks) {
  PageView view = opened();
  EXPECT_EQ(plain(view), "░░░░|");
  view.on_event(event(EventKind::committed, 3, kBC, 1));
  EXPECT_EQ(plain(view), "░bc░░|");
  view.on_event(event(EventKind::committed, 5, kEnd, 1));
  EXPECT_EQ(plain(view), "░bc░·|");
  view.on_event(event(EventKind::replaced, 3, kA, 1));
  EXPECT_EQ(plain(view), "░a░·|");
  view.on_event(event(EventKind::revoked, 3));
  EXPECT_EQ(plain(view), "░░░·|");
  view.on_event(event(EventKind::deleted, 2));
  view.on_event(event(EventKind::inserted, 2));
  view.on_event(event(EventKind::inserted, 2));
  EXPECT_EQ(plain(view), "░░░░·|");
  EXPECT_EQ(view.frame({24, 80}, false).back().bytes, "[pass 1: 1 of 5 decided, 1.0 a pass]");
}

TEST(PageView, CharactersOfSeveralTokensAppearWhole) {
  PageView view = opened();
  view.on_event(event(EventKind::committed, 2, kByteC3, 1));
  EXPECT_EQ(plain(view), "\xef\xbf\xbd░░░|") << "half a character";
  view.on_event(event(EventKind::committed, 3, kByteA9, 1));
  EXPECT_EQ(plain(view), "é░░|");
}

TEST(PageView, GivenTokensAreShownFromWhereTheyAreWanted) {
  EXPECT_EQ(plain(opened(0)), "abc░░░░|");
  EXPECT_EQ(plain(opened(1)), "c░░░░|");
}

TEST(PageView, LongPagesShowTheirLastLines) {
  PageView view = opened();
  view.on_event(event(EventKind::committed, 2, kA, 1));
  view.on_event(event(EventKind::committed, 5, kB, 1));
  EXPECT_EQ(plain(view, 24, 4), "a░░|b|") << "the last column stays free";
  EXPECT_EQ(plain(view, 3, 4), "b|");
  for (const std::size_t rows : {1U, 2U, 3U, 9U}) {
    for (const std::size_t columns : {1U, 2U, 7U}) {
      const auto lines = view.frame({rows, columns}, true);
      EXPECT_LE(lines.size(), std::max<std::size_t>(rows, 2) - 1);
      for (const FrameLine& line : lines) EXPECT_LE(line.columns, std::max<std::size_t>(columns, 3) - 1);
    }
  }
}

TEST(PageView, ColoursTellHowSureTheNetworkWas) {
  PageView view = opened();
  view.on_event(event(EventKind::committed, 2, kA, 0.95));
  view.on_event(event(EventKind::committed, 3, kB, 0.6));
  view.on_event({.kind = EventKind::pass_ran});
  view.on_event(event(EventKind::committed, 4, kC, 0.2));
  view.on_event(event(EventKind::revoked, 3));
  EXPECT_EQ(view.frame({24, 80}, true).front().bytes,
            "\x1b[32ma\x1b[0m\x1b[35m░\x1b[0m\x1b[1;31mc\x1b[0m\x1b[2m░\x1b[0m");
}

}  // namespace
}  // namespace plm
