// dist: the draw itself. It ends every chain, named or not, so naming it changes nothing: the first candidate in
// canonical order at which the cumulative probability reaches the random number (sampling/chain.h).
#include "sampling/sampler.h"

namespace plm {
namespace {

class Dist : public Sampler {
 public:
  bool is_neutral() const override { return true; }
  EffectOnBest effect_on_best() const override { return EffectOnBest::kept; }
  Result<void> apply(Candidates& /*candidates*/, const SampleContext& /*context*/) const override { return {}; }
};

}  // namespace

extern const SamplerDefinition sampler_dist;
constinit const SamplerDefinition sampler_dist = {
    .head = {.name = "dist", .summary = "the draw, which ends every chain", .source = "datasheet part V"},
    .rule = "the first token in canonical order with p_1 + ... + p_i >= u",
    .create = [](const Settings&, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Dist>();
    },
};

}  // namespace plm
