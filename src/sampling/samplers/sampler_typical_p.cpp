// typical_p: the tokens whose surprise is nearest to the expected one, up to a total probability of p (Meister et al.,
// "Locally typical sampling", TACL 2023).
//
// With H the entropy, tokens are taken by | -ln P - H | ascending, equals in canonical order, until more than p is held
// and min_keep are kept. A token of probability 0 is infinitely far and counts 0 in H.
#include "sampling/sampler.h"

namespace plm {
namespace {

class TypicalP : public Sampler {
 public:
  TypicalP(double p, std::int64_t min_keep) : p_(p), min_keep_(static_cast<std::size_t>(min_keep)) {}
  bool is_neutral() const override { return p_ >= 1; }
  LlamaOrder llama_order() const override { return LlamaOrder::by_typicality; }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (p_ < 1) candidates.keep_typical(p_, min_keep_);
    return {};
  }

 private:
  double p_;
  std::size_t min_keep_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "typical_p",
        .aliases = "typical",
        .summary = "only the tokens of most typical surprise that together exceed this probability; 1: all",
        .type = ParameterType::real,
        .standard = 1.0,
        .neutral = 1.0,
        .min = 0,
        .max = 1,
    },
    kMinKeep,
};

constexpr ControlNote kNotes[] = {
    {"typical_p",
     "support, entropy and diversity: up (1: no cut); low values also remove the likeliest token where it is too sure",
     "koboldcpp: typical; textgen: typical_p; llama.cpp's flag: --typical"},
    kMinKeepNote,
};

}  // namespace

extern const SamplerDefinition sampler_typical_p;
constinit const SamplerDefinition sampler_typical_p = {
    .head = {.name = "typical_p",
             .aliases = "typ_p, typical, typ",
             .summary = "keeps tokens whose information is near the expected",
             .source = "datasheet part V; Meister et al. 2023",
             .parameters = kParameters},
    .rule = "tokens by |-ln p - H| ascending until their mass exceeds typical_p stay",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<TypicalP>(settings.real("typical_p"), settings.integer("min_keep"));
    },
};

}  // namespace plm
