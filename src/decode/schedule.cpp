#include "decode/schedule.h"

#include <algorithm>
#include <numeric>

namespace plm {

const ScheduleDefinition* find_schedule(std::string_view name) {
  for (const ScheduleDefinition* schedule : schedules()) {
    if (is_named(name, schedule->head.name, schedule->head.aliases)) return schedule;
  }
  return nullptr;
}

std::vector<std::size_t> by_score(std::span<const OpenPosition> open, std::span<const double> keys) {
  const auto key = [&](std::size_t place) { return keys.empty() ? open[place].score : keys[place]; };
  std::vector<std::size_t> places(open.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::sort(places, [&](std::size_t a, std::size_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  return places;
}

std::vector<std::size_t> best_of(std::span<const OpenPosition> open, std::size_t count, std::span<const double> keys) {
  std::vector<std::size_t> places = by_score(open, keys);
  places.resize(std::min(count, places.size()));
  std::ranges::sort(places);
  return places;
}

std::vector<std::size_t> above(std::span<const OpenPosition> open, double threshold) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < open.size(); ++place) {
    if (open[place].score > threshold) places.push_back(place);
  }
  return places;
}

double unmasked_share(const Step& step, double time_end) {
  if (step.index + 1 >= step.passes) return 1;
  const auto passes = static_cast<double>(step.passes), index = static_cast<double>(step.index);
  const double t = 1 + (time_end - 1) * index / passes, s = 1 + (time_end - 1) * (index + 1) / passes;
  return 1 - s / t;
}

std::size_t equal_share(std::size_t count, std::size_t passes, std::size_t index) {
  return count / passes + (index < count % passes ? 1 : 0);
}

std::vector<PlannedBlock> plan_blocks(std::size_t length, std::size_t block_length, std::size_t passes) {
  std::vector<PlannedBlock> blocks;
  if (length == 0) return blocks;
  const std::size_t size = block_length == 0 ? length : std::min(block_length, length);
  const std::size_t count = (length + size - 1) / size;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t own = std::min(size, length - i * size);
    blocks.push_back({i * size, own, std::clamp<std::size_t>(equal_share(passes, count, i), 1, own)});
  }
  return blocks;
}

}  // namespace plm
