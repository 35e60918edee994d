// hierarchy: positions more certain than the threshold, the best of every unbroken run of open positions if it is more
// certain than low_threshold, and the best of all: runs are halved, so few passes reach far.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include <algorithm>

#include "decode/schedule.h"

namespace plm {
namespace {

class Hierarchy : public Schedule {
 public:
  Hierarchy(double threshold, double low) : threshold_(threshold), low_(low) {}

  std::vector<std::size_t> choose(const Step& step) const override {
    std::vector<std::size_t> places = above(step.open, threshold_);
    places.push_back(best_of(step.open, 1).front());
    for (std::size_t begin = 0; begin < step.open.size();) {
      std::size_t end = begin + 1;
      while (end < step.open.size() && step.open[end].position == step.open[end - 1].position + 1) ++end;
      const std::size_t best = begin + best_of(step.open.subspan(begin, end - begin), 1).front();
      if (step.open[best].score > low_) places.push_back(best);
      begin = end;
    }
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }

 private:
  double threshold_;
  double low_;
};

constexpr Parameter kParameters[] = {
    kThreshold,
    {
        .name = "low_threshold",
        .summary = "confidence that the best of a run needs",
        .type = ParameterType::real,
        .standard = 0.4,
        .min = 0,
        .max = 1,
    },
};

}  // namespace

extern const ScheduleDefinition schedule_hierarchy;
constinit const ScheduleDefinition schedule_hierarchy = {
    .head = {.name = "hierarchy",
             .summary = "the best of every run of open positions, and all that are certain",
             .source = "dInfer, arXiv 2510.08666",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Hierarchy>(settings.real("threshold"), settings.real("low_threshold"));
    },
};

}  // namespace plm
