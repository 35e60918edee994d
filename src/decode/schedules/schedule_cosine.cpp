// cosine: after pass j of S, ceil(n cos(pi j / 2S)) of the n positions are still open, after the last none.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include <algorithm>
#include <cmath>

#include "base/portable_math.h"
#include "decode/schedule.h"

namespace plm {
namespace {

class Cosine : public Schedule {
 public:
  std::vector<std::size_t> choose(const Step& step) const override {
    std::size_t left = 0;
    if (step.index + 1 < step.passes) {
      constexpr double kHalfPi = 1.57079632679489661923;
      constexpr double kSlack = 1e-9;  // what should be whole may come out a little above
      const double done = static_cast<double>(step.index + 1) / static_cast<double>(step.passes);
      const double open = static_cast<double>(step.open_at_start) * sin_cos_f64(kHalfPi * done).cos;
      left = static_cast<std::size_t>(std::ceil(std::max(0.0, open - kSlack)));
    }
    return best_of(step.open, step.open.size() - std::min(left, step.open.size()));
  }
};

}  // namespace

extern const ScheduleDefinition schedule_cosine;
constinit const ScheduleDefinition schedule_cosine = {
    .head = {.name = "cosine",
             .aliases = "maskgit",
             .summary = "few positions at first, then more and more, along a quarter of a cosine",
             .source = "MaskGIT, arXiv 2202.04200"},
    .create = [](const Settings& /*settings*/) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<Cosine>();
    },
};

}  // namespace plm
