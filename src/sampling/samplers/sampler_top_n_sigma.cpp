// top_n_sigma: logits at most n standard deviations below the greatest stay (Tang et al., "Top-n sigma: not all logits
// are you need", 2024).
//
// The deviation is that of the logits that are not masked, about their mean, divided by their number. What is cut is
// masked, so that samplers that count candidates (top_k, temperature's entropy) still count it, as llama.cpp does.
#include <algorithm>

#include "sampling/sampler.h"

namespace plm {
namespace {

class TopNSigma : public Sampler {
 public:
  explicit TopNSigma(double n) : n_(n) {}
  bool is_neutral() const override { return n_ <= 0; }
  EffectOnBest effect_on_best() const override { return EffectOnBest::kept; }

  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (n_ <= 0 || candidates.size() <= 1) return {};
    const double threshold = candidates.highest() - n_ * candidates.logit_deviation();
    candidates.mask_below(std::min(within_float(threshold), candidates.highest()));
    return {};
  }

 private:
  double n_;
};

constexpr Parameter kParameters[] = {{
    .name = "top_n_sigma",
    .aliases = "nsigma",
    .summary = "only tokens at most this many standard deviations below the greatest logit; 0 or -1: all",
    .type = ParameterType::real,
    .standard = -1.0,
    .neutral = -1.0,
    .min = -1,
    .max = 1e6,
}};

constexpr ControlNote kNotes[] = {
    {"top_n_sigma", "support, entropy and diversity: up; the cut is the same at any temperature",
     "koboldcpp: nsigma; llama.cpp, textgen: top_n_sigma"},
};

}  // namespace

extern const SamplerDefinition sampler_top_n_sigma;
constinit const SamplerDefinition sampler_top_n_sigma = {
    .head = {.name = "top_n_sigma",
             .aliases = "top_nsigma, nsigma",
             .summary = "keeps tokens by their distance from the likeliest in standard deviations of all logits",
             .source = "datasheet part V; Tang et al. 2024",
             .parameters = kParameters},
    .rule = "tokens with z >= z_max - n sigma stay, sigma the deviation of the logits",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<TopNSigma>(settings.real("top_n_sigma"));
    },
};

}  // namespace plm
