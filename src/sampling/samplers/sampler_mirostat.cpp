// mirostat: the cut follows the surprise of the chosen tokens so that it stays near tau (Basu et al., "Mirostat: a
// neural text decoding algorithm that directly controls perplexity", ICLR 2021).
//
// Version 2 keeps the tokens with -log2 p <= mu. Version 1 estimates from the 100 likeliest how fast probabilities
// fall, p_i ~ i^-s, and keeps k = ((s - 1) 2^mu / (1 - V^(1 - s)))^(1 / s) tokens of a vocabulary of V. At least one
// stays. mu starts at 2 tau; after a token of probability p, in what was kept, is accepted, mu -= eta * (-log2 p -
// tau).
#include <array>
#include <cmath>

#include "base/portable_math.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

class Mirostat : public Sampler {
 public:
  Mirostat(std::int64_t version, double tau, double eta) : version_(version), tau_(tau), eta_(eta), initial_{2 * tau} {}
  bool is_neutral() const override { return version_ == 0; }
  EffectOnBest effect_on_best() const override { return EffectOnBest::kept; }
  LlamaOrder llama_order() const override { return LlamaOrder::canonical; }
  bool governs_draw() const override { return true; }
  std::span<const double> initial_state() const override { return initial_; }

  Result<void> apply(Candidates& candidates, const SampleContext& context) const override {
    if (is_neutral()) return {};
    PLM_CHECK(context.state.size() == initial_.size());
    const double mu = context.state[0];
    if (version_ == 1) {
      candidates.keep_top(tokens_to_keep(candidates, mu));
    } else {
      const double least = log_f64(candidates.weigh().total) - mu * kLn2;  // of the logit, from the highest
      candidates.keep_at_least(within_float(candidates.highest() + least), 1);
    }
    return {};
  }

  void learn(const Candidates& /*candidates*/, const Candidates::Pick& pick,
             const SampleContext& context) const override {
    context.state[0] -= eta_ * (-pick.log_probability / kLn2 - tau_);
  }

 private:
  static std::size_t tokens_to_keep(Candidates& candidates, double mu) {
    constexpr std::size_t kLookedAt = 100;
    const auto top = candidates.top(kLookedAt);
    double products = 0, squares = 0;
    for (std::size_t i = 0; i + 1 < top.size() && i + 1 < kLookedAt; ++i) {
      const double b = static_cast<double>(top[i].logit) - static_cast<double>(top[i + 1].logit);  // ln p_i / p_{i+1}
      if (!std::isfinite(b)) break;  // masked from here on
      const auto rank = static_cast<double>(i + 1);
      const double t = log_f64((rank + 1) / rank);
      products += t * b;
      squares += t * t;
    }
    const double s = products / squares;  // NaN where there is nothing to compare
    const double exponent = s - 1;
    const double falling = 1 - exp_f64(-exponent * log_f64(static_cast<double>(candidates.vocabulary())));
    const double power = exponent * exp_f64(mu * kLn2) / falling;
    if (!(power > 0) || !std::isfinite(power) || !(s > 0)) return 1;
    const double k = exp_f64(log_f64(power) / s);
    if (!(k >= 1)) return 1;
    return k < static_cast<double>(candidates.size()) ? static_cast<std::size_t>(k) : candidates.size();
  }

  std::int64_t version_;
  double tau_, eta_;
  std::array<double, 1> initial_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "mirostat",
        .aliases = "mirostat_mode",
        .summary = "keeps the surprise of the text near mirostat_tau by version 1 or 2; 0: off",
        .type = ParameterType::integer,
        .standard = std::int64_t{0},
        .neutral = std::int64_t{0},
        .min = 0,
        .max = 2,
    },
    {
        .name = "mirostat_tau",
        .aliases = "mirostat_ent",
        .summary = "the surprise to keep to",
        .type = ParameterType::real,
        .standard = 5.0,
        .min = 0,
        .max = 100,
        .unit = "bits",
    },
    {
        .name = "mirostat_eta",
        .aliases = "mirostat_lr",
        .summary = "how fast it is corrected",
        .type = ParameterType::real,
        .standard = 0.1,
        .min = 0,
        .max = 100,
    },
};

constexpr ControlNote kNotes[] = {
    {"mirostat", "replaces the other cuts: the surprise of the text follows mirostat_tau whatever the model's entropy",
     "textgen: mirostat_mode"},
    {"mirostat_tau", "surprise, perplexity and diversity: up; coherence: down", "llama.cpp's flag: --mirostat-ent"},
    {"mirostat_eta", "corrections are faster and overshoot more", "llama.cpp's flag: --mirostat-lr"},
};

}  // namespace

extern const SamplerDefinition sampler_mirostat;
constinit const SamplerDefinition sampler_mirostat = {
    .head = {.name = "mirostat",
             .aliases = "mirostat_v1, mirostat_v2",
             .summary = "keeps the surprise of the chosen tokens near a target",
             .source = "datasheet part V; Basu et al. 2021",
             .parameters = kParameters},
    .rule =
        "v2: tokens with -log2 p <= mu stay; v1: k = ((s - 1) 2^mu / (1 - V^(1 - s)))^(1/s); then mu -= eta (-log2 p - "
        "tau)",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Mirostat>(settings.integer("mirostat"), settings.real("mirostat_tau"),
                                        settings.real("mirostat_eta"));
    },
};

}  // namespace plm
