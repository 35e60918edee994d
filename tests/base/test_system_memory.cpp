#include "base/system_memory.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(SystemMemory, IsMoreThanThisTestNeeds) { EXPECT_GT(available_memory_bytes(), 1U << 20); }

TEST(SystemMemory, SizesAreReadable) {
  EXPECT_EQ(memory_size(0), "0.0 MiB");
  EXPECT_EQ(memory_size(3U << 19), "1.5 MiB");
  EXPECT_EQ(memory_size(std::uint64_t{5} << 29), "2.5 GiB");
}

}  // namespace
}  // namespace plm
