// temperature: every logit divided by T. Below 1 the distribution sharpens, above 1 it flattens.
//
// T = 0 is greedy, and so is a T so small that the quotients leave float32, its limit. With dynatemp_range d > 0, T
// follows the entropy H of the n candidates (masked ones counted): from max(0, T - d) where one token is certain to
// T + d where all are equally likely, T' = low + (high - low) * (H / ln n)^exponent (kalomaze, "Dynamic temperature",
// 2023). Then T = 0 is not greedy by itself.
#include <algorithm>
#include <cmath>

#include "base/portable_math.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

class Temperature : public Sampler {
 public:
  Temperature(double temperature, double range, double exponent)
      : temperature_(temperature), range_(range), exponent_(exponent) {}
  bool is_neutral() const override { return range_ == 0 && static_cast<float>(temperature_) == 1.0F; }
  // Rounding of the quotients can make unequal logits equal, and then the lower id comes first.
  EffectOnBest effect_on_best() const override {
    return range_ == 0 && static_cast<float>(temperature_) == 0 ? EffectOnBest::alone : EffectOnBest::may_change;
  }
  LlamaOrder llama_order() const override { return range_ > 0 ? LlamaOrder::canonical : LlamaOrder::as_before; }

  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    const auto temperature = static_cast<float>(range_ > 0 ? following_entropy(candidates) : temperature_);
    if (temperature == 0 || !std::isfinite(candidates.highest() / temperature)) {
      candidates.keep_top(1);
    } else if (temperature != 1) {
      candidates.divide_logits(temperature);
    }
    return {};
  }

 private:
  [[nodiscard]] double following_entropy(Candidates& candidates) const {
    if (candidates.size() <= 1) return 1;
    const double low = std::max(0.0, temperature_ - range_);
    const double high = temperature_ + range_;
    const double share = std::max(0.0, candidates.entropy()) / log_f64(static_cast<double>(candidates.size()));
    // At share 0 the power is 0, or 1 at exponent 0.
    const double power = share > 0 ? pow_f64(share, exponent_) : exponent_ == 0 ? 1.0 : 0.0;
    return low + (high - low) * power;
  }

  double temperature_, range_, exponent_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "temperature",
        .aliases = "temp",
        .summary = "divides the logits: 0 is greedy, below 1 sharper, above 1 flatter",
        .type = ParameterType::real,
        .standard = 0.8,
        .neutral = 1.0,
        .min = 0,
        .max = 1e6,
    },
    {
        .name = "dynatemp_range",
        .summary = "the temperature follows the entropy within temperature +- this; 0: off",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = 0,
        .max = 1e6,
    },
    {
        .name = "dynatemp_exponent",
        .aliases = "dynatemp_exp",
        .summary = "power of the relative entropy by which the temperature follows it",
        .type = ParameterType::real,
        .standard = 1.0,
        .min = 0,
        .max = 1000,
    },
};

constexpr ControlNote kNotes[] = {
    {"temperature",
     "entropy and diversity: up; repetition: down; accuracy: down; support: the same where the cuts come before it, up "
     "where they follow",
     ""},
    {"dynatemp_range", "the temperature follows the entropy: sure places sharpen, unsure ones flatten",
     "textgen: dynatemp_low, dynatemp_high"},
    {"dynatemp_exponent", "the high temperatures are kept for the most unsure places",
     "koboldcpp, textgen: dynatemp_exponent"},
};

}  // namespace

extern const SamplerDefinition sampler_temperature;
constinit const SamplerDefinition sampler_temperature = {
    .head = {.name = "temperature",
             .aliases = "temp, temp_ext, dynamic_temperature, dynatemp",
             .summary = "sharpens or flattens the distribution, by a fixed amount or following the entropy",
             .source = "datasheet part V; kalomaze 2023 for dynamic temperature",
             .parameters = kParameters},
    .rule = "z' = z / T; with a range d: T = low + (high - low) (H / ln n)^exponent, from max(0, T - d) to T + d",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Temperature>(settings.real("temperature"), settings.real("dynatemp_range"),
                                           settings.real("dynatemp_exponent"));
    },
};

}  // namespace plm
