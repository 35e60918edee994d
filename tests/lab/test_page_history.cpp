#include "lab/page_history.h"

#include "metric_cases.h"

namespace plm {
namespace {

PageHistory history_of(const Json& input) {
  return {input["states"].get<std::vector<std::vector<std::int32_t>>>(), input["mask"].get<std::int32_t>()};
}

TEST(PageHistory, EveryCase) {
  PLM_NEEDS_METRIC_CASES();
  check_cases("flip_rate", [](const Json& in) { return flip_rate(history_of(in)); });
  check_cases("oscillations", [](const Json& in) -> std::optional<double> {
    return static_cast<double>(oscillating_cells(history_of(in)));
  });
  check_cases("left_to_right",
              [](const Json& in) { return left_to_right(in["commit_step"].get<std::vector<std::int32_t>>()); });
  check_cases("tokens_per_forward", [](const Json& in) { return tokens_per_pass(in["tokens"], in["forwards"]); });
}

TEST(PageHistory, ByHand) {
  EXPECT_FALSE(flip_rate({}).has_value());
  EXPECT_EQ(oscillating_cells({{{1}, {2}, {1}}, 0}), 1U);
  EXPECT_EQ(oscillating_cells({{{1}, {0}, {1}}, 0}), 1U);  // taken back, and decided as before
  EXPECT_EQ(oscillating_cells({{{1}, {2}, {3}}, 0}), 0U);
}

}  // namespace
}  // namespace plm
