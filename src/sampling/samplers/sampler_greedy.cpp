// greedy: only the likeliest token stays, the one with the lowest id among equals.
#include "sampling/sampler.h"

namespace plm {
namespace {

class Greedy : public Sampler {
 public:
  bool is_neutral() const override { return false; }
  EffectOnBest effect_on_best() const override { return EffectOnBest::alone; }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    candidates.keep_top(1);
    return {};
  }
};

}  // namespace

extern const SamplerDefinition sampler_greedy;
constinit const SamplerDefinition sampler_greedy = {
    .head = {.name = "greedy", .summary = "always the likeliest token", .source = "datasheet part V"},
    .rule = "z' = z of the greatest logit; every other token goes",
    .create = [](const Settings&, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Greedy>();
    },
};

}  // namespace plm
