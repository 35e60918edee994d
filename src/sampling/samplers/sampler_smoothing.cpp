// smoothing: logits bent by a quadratic (and cubic) curve around the greatest (kalomaze, "Smooth sampling", 2024;
// KoboldCpp).
//
// With x = z - max <= 0, factor f and curve c: z = max - f x^2 (3 - c) / 2 + f x^3 (c - 1) / 2. Tokens near the
// likeliest come nearer, those far away go farther. c = 1 is purely quadratic, c = 3 purely cubic.
#include "sampling/sampler.h"

namespace plm {
namespace {

class Smoothing : public Sampler {
 public:
  Smoothing(double factor, double curve)
      : factor_(factor), square_(factor * (3 - curve) / 2), cube_(factor * (curve - 1) / 2) {}
  bool is_neutral() const override { return factor_ == 0; }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (factor_ == 0 || candidates.size() <= 1) return {};
    const double highest = candidates.highest();
    candidates.map_logits([&](float logit) {
      const double x = logit - highest;
      return within_float(highest - square_ * x * x + cube_ * x * x * x);
    });
    return {};
  }

 private:
  double factor_, square_, cube_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "smoothing_factor",
        .summary = "strength of the curve that bends the logits; 0: off",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = 0,
        .max = 1000,
    },
    {
        .name = "smoothing_curve",
        .summary = "its shape: 1 quadratic, 3 cubic",
        .type = ParameterType::real,
        .standard = 1.0,
        .min = 1,
        .max = 3,
    },
};

constexpr ControlNote kNotes[] = {
    {"smoothing_factor", "near the top the distribution flattens, the tail falls away: entropy down at high values",
     "koboldcpp, textgen: smoothing_factor"},
    {"smoothing_curve", "top tokens come nearer to each other, the tail falls faster",
     "koboldcpp, textgen: smoothing_curve"},
};

}  // namespace

extern const SamplerDefinition sampler_smoothing;
constinit const SamplerDefinition sampler_smoothing = {
    .head = {.name = "smoothing",
             .aliases = "quadratic, smooth_sampling",
             .summary = "bends the logits by a quadratic curve around the greatest",
             .source = "datasheet part V; kalomaze 2024",
             .parameters = kParameters},
    .rule = "x = z - z_max; z' = z_max - f x^2 (3 - c) / 2 + f x^3 (c - 1) / 2",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Smoothing>(settings.real("smoothing_factor"), settings.real("smoothing_curve"));
    },
};

}  // namespace plm
