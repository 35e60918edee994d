#include "model/workspace.h"

#include <gtest/gtest.h>

#include <cstring>

#include "state/host_memory.h"

namespace plm {
namespace {

// Counts the blocks and refuses more than a limit.
struct CountingMemory : HostMemory {
  Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override {
    if (blocks == most_blocks) return fail(ErrorKind::no_room, "memory: {} bytes refused", bytes);
    ++blocks;
    return HostMemory::allocate(bytes);
  }
  std::size_t blocks = 0;
  std::size_t most_blocks = 1000;
};

float* numbers_of(const View& view) {
  return reinterpret_cast<float*>(static_cast<HostStorage*>(view.storage)->content.data() + view.offset);
}

void fill(const View& view, float value) { std::fill_n(numbers_of(view), view.rows * view.columns, value); }

bool holds(const View& view, float value) {
  return std::all_of(numbers_of(view), numbers_of(view) + view.rows * view.columns,
                     [&](float number) { return number == value; });
}

TEST(Workspace, ViewsStayValidAndApartWhileItGrows) {
  CountingMemory memory;
  Workspace workspace(memory);
  std::vector<View> views;
  for (std::size_t i = 0; i < 40; ++i) {
    views.push_back(workspace.take(1 + i % 5, 1 + 700 * (i % 7)).value());
    EXPECT_EQ(views.back().offset % 64, 0U);
    EXPECT_EQ(views.back().rows, 1 + i % 5);
    EXPECT_EQ(views.back().columns, 1 + 700 * (i % 7));
    fill(views.back(), static_cast<float>(i));
  }
  EXPECT_GT(memory.blocks, 1U);
  for (std::size_t i = 0; i < views.size(); ++i) EXPECT_TRUE(holds(views[i], static_cast<float>(i))) << i;
}

TEST(Workspace, OneBlockHoldsEverythingAfterAReset) {
  CountingMemory memory;
  Workspace workspace(memory);
  const auto take_all = [&] {
    std::vector<View> views;
    for (std::size_t i = 0; i < 20; ++i) views.push_back(workspace.take(3, 1000 + i).value());
    return views;
  };
  take_all();
  EXPECT_GT(memory.blocks, 1U);
  ASSERT_TRUE(workspace.reset().has_value());
  const std::size_t blocks = memory.blocks;
  for (int round = 0; round < 3; ++round) {
    const auto views = take_all();
    for (const View& view : views) EXPECT_EQ(view.storage, views[0].storage);
    ASSERT_TRUE(workspace.reset().has_value());
  }
  EXPECT_EQ(memory.blocks, blocks) << "a pass of the same size allocates nothing";
}

TEST(Workspace, PassesARefusalOnAndCanGoOn) {
  CountingMemory memory;
  memory.most_blocks = 1;
  Workspace workspace(memory);
  const View first = workspace.take(1, 10).value();
  fill(first, 1);
  const auto refused = workspace.take(1000, 1000);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::no_room);
  const View second = workspace.take(1, 10).value();
  fill(second, 2);
  EXPECT_TRUE(holds(first, 1));
  ASSERT_TRUE(workspace.reset().has_value());
  EXPECT_TRUE(workspace.take(1, 10).has_value());
}

}  // namespace
}  // namespace plm
