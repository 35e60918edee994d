#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(Dist, NamingTheDrawChangesNothing) {
  const auto logits = golden_input("gauss64");
  Candidates workspace;
  for (std::uint32_t cell = 0; cell < 20; ++cell) {
    const DrawPlace place{.seed = 4, .cell = cell};
    EXPECT_EQ(chain_of({{"samplers", "top_k;dist"}}).select(logits, place, workspace)->id,
              chain_of({{"samplers", "top_k"}}).select(logits, place, workspace)->id);
  }
}

}  // namespace
}  // namespace plm
