// min_p: tokens at least p times as likely as the likeliest stay (Nguyen et al., "Turning up the heat: min-p sampling",
// ICLR 2025).
//
// Compared as logits, z >= highest + ln p, so ties with the likeliest stay even at p = 1.
#include "base/portable_math.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

class MinP : public Sampler {
 public:
  MinP(double p, std::int64_t min_keep)
      : distance_(p > 0 ? static_cast<float>(log_f64(p)) : 0.0F),
        is_neutral_(p == 0),
        min_keep_(static_cast<std::size_t>(min_keep)) {}
  bool is_neutral() const override { return is_neutral_; }
  EffectOnBest effect_on_best() const override { return EffectOnBest::kept; }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (!is_neutral_) candidates.keep_at_least(candidates.highest() + distance_, min_keep_);
    return {};
  }

 private:
  float distance_;  // ln p, not above 0
  bool is_neutral_;
  std::size_t min_keep_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "min_p",
        .summary = "only tokens at least this many times as likely as the likeliest; 0: all",
        .type = ParameterType::real,
        .standard = 0.05,
        .neutral = 0.0,
        .min = 0,
        .max = 1,
    },
    kMinKeep,
};

constexpr ControlNote kNotes[] = {
    {"min_p", "support, entropy and diversity: down, least where the model is unsure; accuracy at high temperature: up",
     ""},
    kMinKeepNote,
};

}  // namespace

extern const SamplerDefinition sampler_min_p;
constinit const SamplerDefinition sampler_min_p = {
    .head = {.name = "min_p",
             .aliases = "minp",
             .summary = "keeps tokens by their probability relative to the likeliest",
             .source = "datasheet part V; Nguyen et al. 2025",
             .parameters = kParameters},
    .rule = "tokens with p >= min_p p_max stay: z >= z_max + ln min_p",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<MinP>(settings.real("min_p"), settings.integer("min_keep"));
    },
};

}  // namespace plm
