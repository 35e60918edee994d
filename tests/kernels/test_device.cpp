#include "kernels/device.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(Device, RolesSayAlongWhichAxisAWeightMayBeCut) {
  // What follows a cut along the outputs must be cut along its inputs, so that one all_reduce completes the sum.
  EXPECT_EQ(split_axis(WeightRole::attention_query), SplitAxis::outputs);
  EXPECT_EQ(split_axis(WeightRole::attention_output), SplitAxis::inputs);
  EXPECT_EQ(split_axis(WeightRole::ffn_gate), SplitAxis::outputs);
  EXPECT_EQ(split_axis(WeightRole::ffn_up), SplitAxis::outputs);
  EXPECT_EQ(split_axis(WeightRole::ffn_down), SplitAxis::inputs);
  EXPECT_EQ(split_axis(WeightRole::norm), SplitAxis::none);
  EXPECT_EQ(split_axis(WeightRole::router), SplitAxis::none);
  EXPECT_EQ(split_axis(WeightRole::attention_latent), SplitAxis::none);
}

}  // namespace
}  // namespace plm
