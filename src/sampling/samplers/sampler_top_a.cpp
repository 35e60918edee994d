// top_a: tokens with a probability of at least a times the square of the greatest stay (KoboldAI).
//
// Compared as logits: z >= highest + ln(a * p_max). The likeliest always stays, also where a * p_max exceeds 1.
#include <algorithm>

#include "base/portable_math.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

class TopA : public Sampler {
 public:
  explicit TopA(double a) : a_(a) {}
  bool is_neutral() const override { return a_ == 0; }
  EffectOnBest effect_on_best() const override { return EffectOnBest::kept; }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (a_ == 0) return {};
    const double least = log_f64(a_) - log_f64(candidates.weigh().total);  // ln(a * p_max)
    candidates.keep_at_least(candidates.highest() + static_cast<float>(std::min(least, 0.0)), 1);
    return {};
  }

 private:
  double a_;
};

constexpr Parameter kParameters[] = {{
    .name = "top_a",
    .summary = "only tokens at least this many times the square of the greatest probability; 0: all",
    .type = ParameterType::real,
    .standard = 0.0,
    .neutral = 0.0,
    .min = 0,
    .max = 1e6,
}};

constexpr ControlNote kNotes[] = {
    {"top_a", "support, entropy and diversity: down, most where the model is sure", "koboldcpp, textgen: top_a"},
};

}  // namespace

extern const SamplerDefinition sampler_top_a;
constinit const SamplerDefinition sampler_top_a = {
    .head = {.name = "top_a",
             .aliases = "topa",
             .summary = "keeps tokens by the square of the likeliest one's probability",
             .source = "datasheet part V; KoboldAI",
             .parameters = kParameters},
    .rule = "tokens with p >= a p_max^2 stay",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<TopA>(settings.real("top_a"));
    },
};

}  // namespace plm
