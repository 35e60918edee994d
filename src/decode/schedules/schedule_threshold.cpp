// threshold: every position more certain than the threshold, or the most certain one when none is. Where more than
// most_per_pass are, only the most certain of them.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include "decode/schedule.h"

namespace plm {
namespace {

class Threshold : public Schedule {
 public:
  Threshold(double threshold, std::int64_t most) : threshold_(threshold), most_(static_cast<std::size_t>(most)) {}

  std::vector<std::size_t> choose(const Step& step) const override {
    std::vector<std::size_t> places = above(step.open, threshold_);
    if (places.empty()) return best_of(step.open, 1);
    if (most_ > 0 && places.size() > most_) return best_of(step.open, most_);
    return places;
  }

 private:
  double threshold_;
  std::size_t most_;
};

constexpr Parameter kParameters[] = {
    kThreshold,
    {
        .name = "most_per_pass",
        .summary = "positions that a pass decides at most; 0: any number",
        .type = ParameterType::integer,
        .standard = std::int64_t{0},
        .min = 0,
        .max = 1U << 20,
        .unit = "tokens",
    },
};

}  // namespace

extern const ScheduleDefinition schedule_threshold;
constinit const ScheduleDefinition schedule_threshold = {
    .head = {.name = "threshold",
             .aliases = "confidence_threshold",
             .summary = "every position whose confidence is above the threshold, at least one",
             .source = "Fast-dLLM, arXiv 2505.22618",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Threshold>(settings.real("threshold"), settings.integer("most_per_pass"));
    },
};

}  // namespace plm
