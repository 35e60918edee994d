// transfer: the ancestral step of the masking process: each open position is decided with probability 1 - s / t,
// independently; a pass may decide none, the last one decides all. Time as in schedule_timestep.cpp.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include "decode/schedule.h"

namespace plm {
namespace {

class Transfer : public Schedule {
 public:
  Transfer(double end, double probability) : end_(end), probability_(probability) {}

  std::vector<std::size_t> choose(const Step& step) const override {
    const double share = unmasked_share(step, end_);
    const double probability = probability_ > 0 && share < 1 ? probability_ : share;
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < step.open.size(); ++place) {
      if (step.open[place].uniform < probability) places.push_back(place);
    }
    return places;
  }

 private:
  double end_;
  double probability_;
};

constexpr Parameter kParameters[] = {
    kTimeEnd,
    {
        .name = "transfer_probability",
        .summary = "of deciding a position in a pass; 0: as the step in time has it",
        .type = ParameterType::real,
        .standard = 0.0,
        .min = 0,
        .max = 1,
    },
};

}  // namespace

extern const ScheduleDefinition schedule_transfer;
constinit const ScheduleDefinition schedule_transfer = {
    .head = {.name = "transfer",
             .aliases = "origin",
             .summary = "every position with the same probability, independently of confidence",
             .source = "Dream, arXiv 2508.15487 (alg: origin); MDLM, arXiv 2406.07524",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Transfer>(settings.real("time_end"), settings.real("transfer_probability"));
    },
};

}  // namespace plm
