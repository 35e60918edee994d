#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(TypicalP, AgreesWithTheGoldenCases) { expect_golden("typical.json", 27); }

}  // namespace
}  // namespace plm
