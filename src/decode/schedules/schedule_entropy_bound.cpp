// entropy_bound: by score, the first k, k being the last at which the sum of entropies less the largest of them is at
// most the bound: the joint entropy given up by deciding them independently is then bounded as well. At least one.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include <algorithm>

#include "decode/schedule.h"

namespace plm {
namespace {

class EntropyBound : public Schedule {
 public:
  explicit EntropyBound(double bound) : bound_(bound) {}

  std::vector<std::size_t> choose(const Step& step) const override {
    std::size_t count = 0;
    double sum = 0, largest = 0;
    for (const std::size_t place : by_score(step.open)) {
      sum += step.open[place].entropy;
      largest = std::max(largest, step.open[place].entropy);
      if (sum - largest > bound_) break;
      ++count;
    }
    return best_of(step.open, std::max<std::size_t>(count, 1));
  }

 private:
  double bound_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "entropy_bound",
        .summary = "entropy that may be given up in a pass, in nats",
        .type = ParameterType::real,
        .standard = 0.1,
        .min = 0,
    },
};

}  // namespace

extern const ScheduleDefinition schedule_entropy_bound;
constinit const ScheduleDefinition schedule_entropy_bound = {
    .head = {.name = "entropy_bound",
             .aliases = "eb",
             .summary = "the most certain positions whose entropies, less the largest, add up to the bound",
             .source = "EB sampler, arXiv 2505.24857",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<EntropyBound>(settings.real("entropy_bound"));
    },
};

}  // namespace plm
