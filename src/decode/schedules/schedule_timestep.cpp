// timestep: time runs from 1 to time_end in equal steps; a step from t to s decides floor(m (1 - s / t)) of the m open
// positions, the most certain first, and the last step all that are left. (The floor leaves a lump for the last step.)
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include "decode/schedule.h"

namespace plm {
namespace {

class Timestep : public Schedule {
 public:
  explicit Timestep(double end) : end_(end) {}

  std::vector<std::size_t> choose(const Step& step) const override {
    constexpr double kSlack = 1e-9;  // what should be whole may come out a little below
    const double count = static_cast<double>(step.open.size()) * unmasked_share(step, end_);
    return best_of(step.open, static_cast<std::size_t>(count + kSlack));
  }

 private:
  double end_;
};

constexpr Parameter kParameters[] = {kTimeEnd};

}  // namespace

extern const ScheduleDefinition schedule_timestep;
constinit const ScheduleDefinition schedule_timestep = {
    .head = {.name = "timestep",
             .aliases = "linear",
             .summary = "as many positions as the step in time of the masking process unmasks on average",
             .source = "Dream, arXiv 2508.15487",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Timestep>(settings.real("time_end"));
    },
};

}  // namespace plm
