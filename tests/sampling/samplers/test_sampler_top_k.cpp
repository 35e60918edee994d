#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(TopK, AgreesWithTheGoldenCases) { expect_golden("top_k.json", 33); }

TEST(TopK, CutsTiesByLowerIdFirst) {
  const auto logits = golden_input("flat8");
  Candidates candidates;
  ASSERT_TRUE(candidates.reset(logits));
  candidates.keep_top(3);
  const auto kept = in_canonical_order(candidates);
  ASSERT_EQ(kept.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kept[static_cast<std::size_t>(i)].id, i);
}

}  // namespace
}  // namespace plm
