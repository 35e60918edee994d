// kl_stable: positions more certain than the threshold whose distribution has moved by less than kl_bound (KL
// divergence from that of the pass before) in each of the last kl_history passes; if there are none, the kl_fallback
// most certain.
// Tested by tests/decode/test_golden_steps.cpp and tests/contract/test_schedules.cpp.
#include <algorithm>

#include "decode/schedule.h"

namespace plm {
namespace {

class KlStable : public Schedule {
 public:
  explicit KlStable(const Settings& settings)
      : threshold_(settings.real("threshold")),
        bound_(settings.real("kl_bound")),
        history_(static_cast<std::size_t>(settings.integer("kl_history"))),
        fallback_(static_cast<std::size_t>(settings.integer("kl_fallback"))) {}

  bool reads_changes() const override { return true; }
  std::vector<std::size_t> choose(const Step& step) const override {
    std::vector<std::size_t> places;
    for (const std::size_t place : above(step.open, threshold_)) {
      const std::span<const double> changes = step.open[place].changes;
      const bool is_known = changes.size() >= history_;
      if (is_known && std::ranges::all_of(changes.last(history_), [this](double kl) { return kl < bound_; })) {
        places.push_back(place);
      }
    }
    return places.empty() ? best_of(step.open, fallback_) : places;
  }

 private:
  double threshold_;
  double bound_;
  std::size_t history_;
  std::size_t fallback_;
};

constexpr Parameter kParameters[] = {
    kThreshold,
    {
        .name = "kl_bound",
        .summary = "change of a distribution, in nats, below which it counts as stable",
        .type = ParameterType::real,
        .standard = 0.01,
        .min = 0,
    },
    {
        .name = "kl_history",
        .summary = "passes for which it must have been stable",
        .type = ParameterType::integer,
        .standard = std::int64_t{2},
        .min = 1,
        .max = 64,
        .unit = "passes",
    },
    {
        .name = "kl_fallback",
        .summary = "positions decided when none is stable",
        .type = ParameterType::integer,
        .standard = std::int64_t{1},
        .min = 1,
        .max = 1U << 20,
        .unit = "tokens",
    },
};

}  // namespace

extern const ScheduleDefinition schedule_kl_stable;
constinit const ScheduleDefinition schedule_kl_stable = {
    .head = {.name = "kl_stable",
             .aliases = "klass",
             .summary = "positions whose distribution has stopped changing and is certain",
             .source = "KLASS, arXiv 2511.05664",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Schedule>> {
      return std::make_unique<KlStable>(settings);
    },
};

}  // namespace plm
