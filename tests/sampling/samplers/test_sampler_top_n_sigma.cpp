#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(TopNSigma, AgreesWithTheGoldenCases) { expect_golden("top_n_sigma.json", 32); }

}  // namespace
}  // namespace plm
