#include "engine/pass_cost.h"

#include <gtest/gtest.h>

#include "engine_runs.h"

namespace plm {
namespace {

TEST(PassCost, BreakEvenIsWhereBothWaysTakeTheSameTime) {
  // A 1.7B model on a CPU, as the planner's reference works it out by hand.
  EXPECT_NEAR(break_even({.write = 94.8, .refine = 138.1, .keep = 115.3}, 4).value(), 2.09, 0.005);
  EXPECT_NEAR(break_even({.write = 94.8, .refine = 547.3, .keep = 466.4}, 32).value(), 6.82, 0.005);
  EXPECT_NEAR(break_even({.write = 8.19, .refine = 20.76, .keep = 17.93}, 8).value(), 3.49, 0.005);
  EXPECT_DOUBLE_EQ(break_even({.write = 2, .refine = 6, .keep = 0}, 8).value(), 3) << "nothing to remember: a ratio";
  EXPECT_FALSE(break_even({.write = 1, .refine = 2, .keep = 8}, 8).has_value());

  const BlockCost cost{.write = 10, .refine = 20, .keep = 15};
  const double even = break_even(cost, 16).value();
  EXPECT_NEAR(16 * cost.write, 16 / even * cost.refine + cost.keep, 1e-9);
  EXPECT_DOUBLE_EQ(block_rate(cost, 16, 4), 16000.0 / (4 * 20 + 15));
  EXPECT_DOUBLE_EQ(block_rate(cost, 16, 5), 16000.0 / (4 * 20 + 15)) << "passes are whole";
}

TEST(PassCost, MeasuresEveryUseAndLeavesNothingBehind) {
  const auto engine = load_engine(PLM_MODELS "/twin-tri.gguf", {.context_length = 64, .most_sequences = 6});
  for (int round = 0; round < 3; ++round) {  // what is not given back would be missing in the end
    PassMeter meter(*engine, 20);
    for (const PassUse use : {PassUse::write, PassUse::refine, PassUse::keep}) {
      EXPECT_GT(meter.median_ms(use, use == PassUse::write ? 1 : 8, 3, 2).value(), 0);
    }
  }
  PassMeter stopped(*engine, 20, [] { return true; });
  EXPECT_EQ(stopped.median_ms(PassUse::refine, 8, 1, 1).error().kind, ErrorKind::interrupted);
}

}  // namespace
}  // namespace plm
