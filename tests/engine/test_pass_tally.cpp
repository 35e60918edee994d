#include "engine/pass_tally.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(PassTally, CountsRowsHitsAndWhatPassesOfSoManyRowsTake) {
  PassTally tally;
  tally.on_event({.kind = EventKind::inserted}, 1);
  tally.on_event({.kind = EventKind::pass_ran, .rows = 30}, 5);
  tally.on_event({.kind = EventKind::proposed}, 6);
  tally.on_event({.kind = EventKind::pass_ran, .rows = 10, .reused = 20}, 8);
  tally.on_event({.kind = EventKind::drifted, .rows = 4, .probability = 0.25, .score = 0.5}, 11);
  tally.on_event({.kind = EventKind::pass_ran, .rows = 10, .reused = 20}, 12);
  EXPECT_EQ(tally.passes(), 3U);
  EXPECT_EQ(tally.rows(), 50U);
  EXPECT_EQ(tally.reused(), 40U);
  EXPECT_DOUBLE_EQ(tally.hit_rate(), 40.0 / 90.0);
  ASSERT_EQ(tally.by_rows().size(), 2U);
  EXPECT_EQ(tally.by_rows().at(10).passes, 2U);
  EXPECT_DOUBLE_EQ(tally.by_rows().at(10).ms, 3) << "from the event before each";
  EXPECT_DOUBLE_EQ(tally.by_rows().at(30).ms, 4);
  EXPECT_DOUBLE_EQ(tally.drift().ms, 3);

  PassTally sum;
  EXPECT_EQ(sum.hit_rate(), 0);
  sum.add(tally);
  sum.add(tally);
  EXPECT_EQ(sum.passes(), 6U);
  EXPECT_EQ(sum.by_rows().at(10).passes, 4U);
  EXPECT_EQ(sum.drift().measured, 2U);
  EXPECT_EQ(sum.drift().rows, 8U);
  EXPECT_DOUBLE_EQ(sum.drift().flipped, 2);
  EXPECT_DOUBLE_EQ(sum.drift().largest_logit_change, 0.5);
}

}  // namespace
}  // namespace plm
