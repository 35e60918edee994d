#include "search/code_fence.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(CodeFence, TheFirstFenceIsTheCode) {
  EXPECT_EQ(code_of("Here:\n```python\nx = 1\n```\nand ```y```"), "x = 1");
  EXPECT_EQ(code_of("```\na\nb"), "a\nb");
  EXPECT_EQ(code_of("  x = 1\n"), "x = 1");
  EXPECT_EQ(code_of("```"), "");
  EXPECT_EQ(code_of(""), "");
}

}  // namespace
}  // namespace plm
