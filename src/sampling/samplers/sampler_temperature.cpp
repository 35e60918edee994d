// temperature: every logit divided by T. Below 1 the distribution sharpens, above 1 it flattens.
//
// T = 0 is greedy, and so is a T so small that the quotients leave float32, its limit.
#include <cmath>

#include "sampling/sampler.h"

namespace plm {
namespace {

class Temperature : public Sampler {
 public:
  explicit Temperature(double temperature) : temperature_(static_cast<float>(temperature)) {}
  bool is_neutral() const override { return temperature_ == 1.0F; }
  // Rounding of the quotients can make unequal logits equal, and then the lower id comes first.
  EffectOnBest effect_on_best() const override {
    return temperature_ == 0 ? EffectOnBest::alone : EffectOnBest::may_change;
  }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) override {
    if (temperature_ == 0 || !std::isfinite(candidates.highest() / temperature_)) {
      candidates.keep_top(1);
    } else {
      candidates.divide_logits(temperature_);
    }
    return {};
  }

 private:
  float temperature_;
};

constexpr Parameter kParameters[] = {{
    .name = "temperature",
    .aliases = "temp",
    .summary = "divides the logits: 0 is greedy, below 1 sharper, above 1 flatter",
    .type = ParameterType::real,
    .standard = 0.8,
    .neutral = 1.0,
    .min = 0,
    .max = 1e6,
}};

}  // namespace

extern const SamplerDefinition sampler_temperature;
constinit const SamplerDefinition sampler_temperature = {
    .head = {.name = "temperature",
             .aliases = "temp",
             .summary = "sharpens or flattens the distribution",
             .source = "datasheet part V",
             .parameters = kParameters},
    .create = [](const Settings& settings) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Temperature>(settings.real("temperature"));
    },
};

}  // namespace plm
