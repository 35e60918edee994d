// top_p: the fewest tokens that together hold a probability of p (Holtzman et al., "The curious case of neural text
// degeneration", ICLR 2020).
//
// The token that crosses p belongs to them; p = 0 leaves the likeliest one, or min_keep tokens.
#include "sampling/sampler.h"

namespace plm {
namespace {

class TopP : public Sampler {
 public:
  TopP(double p, std::int64_t min_keep) : p_(p), min_keep_(static_cast<std::size_t>(min_keep)) {}
  bool is_neutral() const override { return p_ >= 1; }
  EffectOnBest effect_on_best() const override {
    return p_ == 0 && min_keep_ <= 1 ? EffectOnBest::alone : EffectOnBest::kept;
  }
  LlamaOrder llama_order() const override { return LlamaOrder::canonical; }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (p_ < 1) candidates.keep_mass(p_, min_keep_);
    return {};
  }

 private:
  double p_;
  std::size_t min_keep_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "top_p",
        .summary = "only the likeliest tokens that together reach this probability; 1: all",
        .type = ParameterType::real,
        .standard = 0.95,
        .neutral = 1.0,
        .min = 0,
        .max = 1,
    },
    kMinKeep,
};

constexpr ControlNote kNotes[] = {
    {"top_p", "support, entropy and diversity: up, most where the model is unsure (1: no cut)", ""},
    kMinKeepNote,
};

}  // namespace

extern const SamplerDefinition sampler_top_p;
constinit const SamplerDefinition sampler_top_p = {
    .head = {.name = "top_p",
             .aliases = "topp, nucleus",
             .summary = "keeps the likeliest tokens up to a total probability",
             .source = "datasheet part V; Holtzman et al. 2020",
             .parameters = kParameters},
    .rule = "the fewest tokens with p_1 + ... + p_k >= top_p stay",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<TopP>(settings.real("top_p"), settings.integer("min_keep"));
    },
};

}  // namespace plm
