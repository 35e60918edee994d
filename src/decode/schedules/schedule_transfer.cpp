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
    if (step.index + 1 >= step.passes) return best_of(step.open, step.open.size());
    double probability = probability_;
    if (probability == 0) {
      const auto passes = static_cast<double>(step.passes), index = static_cast<double>(step.index);
      probability = 1 - (1 + (end_ - 1) * (index + 1) / passes) / (1 + (end_ - 1) * index / passes);
    }
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
    {
        .name = "time_end",
        .summary = "time at the end of the process",
        .type = ParameterType::real,
        .standard = 0.001,
        .min = 0,
        .max = 0.999999,
    },
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
