// count: every pass decides the same number of positions, the most certain first (LLaDA, arXiv 2502.09992): either
// tokens_per_pass, or the block's open positions shared equally among the passes planned. With a position temperature
// the positions are drawn without replacement, with weights e^(score / temperature), as Dream does (alg_temp): the
// Gumbel top k of score / temperature.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include <optional>

#include "decode/proposal.h"
#include "decode/schedule.h"

namespace plm {
namespace {

class Count : public Schedule {
 public:
  Count(std::optional<std::size_t> tokens_per_pass, double temperature)
      : tokens_per_pass_(tokens_per_pass), temperature_(temperature) {}

  std::vector<std::size_t> choose(const Step& step) const override {
    const std::size_t count = tokens_per_pass_.value_or(equal_share(step.open_at_start, step.passes, step.index));
    if (temperature_ == 0) return best_of(step.open, count);
    std::vector<double> keys;
    for (const OpenPosition& open : step.open) keys.push_back(open.score / temperature_ + gumbel(open.uniform));
    return best_of(step.open, count, keys);
  }

 private:
  std::optional<std::size_t> tokens_per_pass_;
  double temperature_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "tokens_per_pass",
        .summary = "positions that each pass decides; not set: as many as the passes planned need",
        .type = ParameterType::integer,
        .min = 0,
        .max = 1U << 20,
        .unit = "tokens",
    },
    {
        .name = "position_temperature",
        .summary = "above 0, positions are drawn by confidence rather than ranked",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = 0,
    },
};

}  // namespace

extern const ScheduleDefinition schedule_count;
constinit const ScheduleDefinition schedule_count = {
    .head = {.name = "count",
             .aliases = "uniform, low_confidence_count",
             .summary = "the same number of positions each pass, the most certain first",
             .source = "LLaDA, arXiv 2502.09992; Dream, arXiv 2508.15487",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Schedule>> {
      std::optional<std::size_t> tokens;
      if (settings.has("tokens_per_pass")) tokens = static_cast<std::size_t>(settings.integer("tokens_per_pass"));
      return std::make_unique<Count>(tokens, settings.real("position_temperature"));
    },
};

}  // namespace plm
