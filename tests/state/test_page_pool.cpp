#include "state/page_pool.h"

#include <gtest/gtest.h>

#include "state/host_memory.h"

namespace plm {
namespace {

TEST(PagePool, ReusesAPageOnceItsLastOwnerLetsGo) {
  HostMemory memory;
  PagePool pool(memory, 64, 2);
  Page first = pool.take().value();
  Storage* storage = first.get();
  Page second_owner = first;
  first.reset();
  EXPECT_EQ(pool.pages_in_use(), 1U);
  second_owner.reset();
  EXPECT_EQ(pool.pages_in_use(), 0U);
  EXPECT_EQ(pool.take().value().get(), storage);
  EXPECT_EQ(pool.pages_allocated(), 1U);
}

TEST(PagePool, RefusesWhenFullAndNamesTheLimit) {
  HostMemory memory;
  PagePool pool(memory, 64, 1);
  const Page held = pool.take().value();
  const auto refused = pool.take();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::no_room);
  EXPECT_NE(refused.error().message.find("all 1 pages of 256 cells"), std::string::npos) << refused.error().message;
}

TEST(PagePool, APageMayOutliveThePool) {
  HostMemory memory;
  Page page;
  {
    PagePool pool(memory, 64, 1);
    page = pool.take().value();
  }
  EXPECT_EQ(page->size(), 64U);
}

}  // namespace
}  // namespace plm
