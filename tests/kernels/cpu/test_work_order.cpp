#include "kernels/cpu/work_order.h"

#include <gtest/gtest.h>

#include <array>

namespace plm {
namespace {

class WorkOrders : public testing::Test {
 protected:
  std::span<const std::byte> bytes(std::size_t begin, std::size_t count) const {
    return std::span(memory_).subspan(begin, count);
  }
  std::array<std::byte, 64> memory_{};
  WorkOrder order_;
};

TEST_F(WorkOrders, WhatIsOnlyReadIsShared) {
  EXPECT_FALSE(order_.must_wait({reads(bytes(0, 16)), writes(bytes(16, 8))}));
  EXPECT_FALSE(order_.must_wait({reads(bytes(0, 16)), writes(bytes(24, 8))}));
}

TEST_F(WorkOrders, ReadingWhatWasWrittenWaits) {
  EXPECT_FALSE(order_.must_wait({writes(bytes(0, 8))}));
  EXPECT_FALSE(order_.must_wait({reads(bytes(8, 8))}));  // beside it
  EXPECT_TRUE(order_.must_wait({reads(bytes(7, 2))}));
  EXPECT_FALSE(order_.must_wait({reads(bytes(0, 8))}));  // the barrier is past
}

TEST_F(WorkOrders, WritingWhatIsReadOrWrittenWaits) {
  EXPECT_FALSE(order_.must_wait({reads(bytes(0, 8))}));
  EXPECT_TRUE(order_.must_wait({writes(bytes(0, 1))}));
  EXPECT_TRUE(order_.must_wait({writes(bytes(0, 1))}));
}

TEST_F(WorkOrders, OnlyWorkSinceTheLastBarrierCounts) {
  EXPECT_FALSE(order_.must_wait({writes(bytes(0, 8))}));
  EXPECT_TRUE(order_.must_wait({reads(bytes(0, 8)), writes(bytes(8, 8))}));
  EXPECT_FALSE(order_.must_wait({reads(bytes(0, 8)), writes(bytes(16, 8))}));
  EXPECT_TRUE(order_.must_wait({reads(bytes(16, 8))}));
  order_.clear();
  EXPECT_FALSE(order_.must_wait({writes(bytes(0, 64))}));
}

TEST_F(WorkOrders, NothingTouchesNothing) {
  EXPECT_FALSE(order_.must_wait({writes(bytes(0, 8))}));
  EXPECT_FALSE(order_.must_wait({writes(bytes(4, 0)), reads(Floats{nullptr, 0, 0, 0})}));
}

}  // namespace
}  // namespace plm
