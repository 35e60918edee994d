// factor: by score, the largest n with (n + 1)(1 - c_n) < factor, at least one. Where all tokens have more than 1 - e
// and (n + 1) e <= 1, the product of the likeliest is the likeliest whole (theorem 1 of the paper): factor 1.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include <algorithm>

#include "decode/schedule.h"

namespace plm {
namespace {

class Factor : public Schedule {
 public:
  explicit Factor(double factor) : factor_(factor) {}

  std::vector<std::size_t> choose(const Step& step) const override {
    std::size_t count = 0;
    for (const std::size_t place : by_score(step.open)) {
      if (!(static_cast<double>(count + 2) * (1 - step.open[place].score) < factor_)) break;
      ++count;
    }
    return best_of(step.open, std::max<std::size_t>(count, 1));
  }

 private:
  double factor_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "factor",
        .summary = "how much doubt the positions of one pass may add up to",
        .type = ParameterType::real,
        .standard = 1.0,
        .min = 0,
    },
};

}  // namespace

extern const ScheduleDefinition schedule_factor;
constinit const ScheduleDefinition schedule_factor = {
    .head = {.name = "factor",
             .summary = "the largest number n whose n-th confidence c has (n + 1)(1 - c) below the factor",
             .source = "Fast-dLLM, arXiv 2505.22618, section 3.3",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Factor>(settings.real("factor"));
    },
};

}  // namespace plm
