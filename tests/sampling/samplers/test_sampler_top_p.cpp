#include <gtest/gtest.h>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

TEST(TopP, AgreesWithTheGoldenCases) { expect_golden("top_p.json", 40); }

TEST(TopP, RefusesWhatIsNoProbability) {
  for (const char* value : {"2", "-0.1", "nan", "1.0001"}) {
    EXPECT_FALSE(Settings(sampling_parameters()).set_text("top_p", value)) << value;
  }
}

}  // namespace
}  // namespace plm
