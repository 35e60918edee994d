// What every registered schedule promises: places in order, without repeats, among the open ones; and, asked pass after
// pass, an end within a bound that depends on the block alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "decode/schedule.h"

namespace plm {
namespace {

class EverySchedule : public testing::TestWithParam<const ScheduleDefinition*> {};

TEST_P(EverySchedule, IsDescribed) {
  EXPECT_FALSE(GetParam()->head.summary.empty());
  EXPECT_FALSE(GetParam()->head.source.empty());
  EXPECT_EQ(find_schedule(GetParam()->head.name), GetParam());
}

// Scores of every kind, among them equal ones and those to be taken last; distributions that never come to rest.
std::vector<OpenPosition> drawn(const std::vector<std::size_t>& positions, std::mt19937& random) {
  static constexpr double kChanges[] = {5.0, 7.0, 9.0};
  std::uniform_real_distribution<double> share(1e-9, 1);
  std::vector<OpenPosition> open;
  for (const std::size_t position : positions) {
    const double score = share(random);
    open.push_back({.position = position,
                    .score = score < 0.1   ? -std::numeric_limits<double>::infinity()
                             : score < 0.4 ? 0.5
                                           : score,
                    .entropy = 4 * share(random),
                    .uniform = share(random),
                    .changes = kChanges});
  }
  return open;
}

TEST_P(EverySchedule, ChoosesInOrderAndComesToAnEnd) {
  const Settings settings(GetParam()->head.parameters);
  const auto schedule = GetParam()->create(settings).value();
  std::mt19937 random(7);
  for (const std::size_t length : {1U, 2U, 7U, 32U, 100U}) {
    for (const std::size_t passes : {std::size_t{1}, (length + 2) / 3, length}) {
      std::vector<std::size_t> positions(length);
      for (std::size_t i = 0; i < length; ++i) positions[i] = i;
      std::size_t index = 0;
      for (; !positions.empty() && index <= 2 * length; ++index) {
        const std::vector<OpenPosition> open = drawn(positions, random);
        const auto places = schedule->choose({open, index, passes, length, length});
        EXPECT_TRUE(std::ranges::is_sorted(places));
        EXPECT_EQ(std::ranges::adjacent_find(places), places.end());
        for (auto place = places.rbegin(); place != places.rend(); ++place) {
          ASSERT_LT(*place, positions.size());
          positions.erase(positions.begin() + static_cast<std::ptrdiff_t>(*place));
        }
      }
      EXPECT_TRUE(positions.empty()) << length << " positions, " << passes << " passes";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, EverySchedule, testing::ValuesIn(schedules().begin(), schedules().end()),
                         [](const auto& schedule) { return std::string(schedule.param->head.name); });

}  // namespace
}  // namespace plm
