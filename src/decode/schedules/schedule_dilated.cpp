// dilated: pass r decides the positions at multiples of n / 2^(r + 1), so that neighbours, which depend on each other
// most, never fall in the same pass until the last; a block of n takes about log2 n passes. Needs no confidence.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include <algorithm>

#include "decode/schedule.h"

namespace plm {
namespace {

class Dilated : public Schedule {
 public:
  std::vector<std::size_t> choose(const Step& step) const override {
    const std::size_t halvings = std::min<std::size_t>(step.index + 1, 63);
    for (std::size_t gap = std::max<std::size_t>(step.block_length >> halvings, 1);;
         gap = std::max<std::size_t>(gap / 2, 1)) {
      std::vector<std::size_t> places;
      for (std::size_t place = 0; place < step.open.size(); ++place) {
        if (step.open[place].position % gap == 0) places.push_back(place);
      }
      if (!places.empty()) return places;
    }
  }
};

}  // namespace

extern const ScheduleDefinition schedule_dilated;
constinit const ScheduleDefinition schedule_dilated = {
    .head = {.name = "dilated",
             .aliases = "dus",
             .summary = "positions far apart first, then those between them, whatever their confidence",
             .source = "arXiv 2506.19037"},
    .create = [](const Settings& /*settings*/) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Dilated>();
    },
};

}  // namespace plm
