// xtc: now and then all choices that are good enough go, except the least likely of them (p-e-w, "Exclude top choices",
// 2024).
//
// With probability xtc_probability, of the tokens with P >= xtc_threshold all but the last in canonical order are
// removed, unless fewer than min_keep would be left. Off at a threshold above 0.5, which two tokens cannot reach. A
// masked token is no choice; in the llamacpp profile, as there, it is one where the threshold is 0, and as the last one
// stays, nothing legal is left then.
#include <limits>

#include "sampling/sampler.h"

namespace plm {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

class Xtc : public Sampler {
 public:
  Xtc(double probability, double threshold, std::int64_t min_keep, bool masked_are_choices)
      : probability_(probability),
        threshold_(threshold),
        min_keep_(static_cast<std::size_t>(min_keep)),
        masked_are_choices_(masked_are_choices) {}
  bool is_neutral() const override { return probability_ == 0 || threshold_ > 0.5; }
  LlamaOrder llama_order() const override { return LlamaOrder::canonical; }

  Result<void> apply(Candidates& candidates, const SampleContext& context) const override {
    if (is_neutral() || candidates.size() < 2 || !fires(context)) return {};
    const auto [weights, total] = candidates.weigh();
    const double least = threshold_ * total;
    std::size_t choices = 0;
    Candidate last{0, candidates.highest()};  // the least likely of the choices
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const bool is_legal = masked_are_choices_ || candidates.logits()[i] != kMasked;
      if (static_cast<double>(weights[i]) < least || !is_legal) continue;
      const Candidate choice{candidates.id(i), candidates.logits()[i]};
      if (choices++ == 0 || precedes(last, choice)) last = choice;
    }
    if (choices < 2 || candidates.size() - (choices - 1) < min_keep_) return {};
    if (last.logit == kMasked) {
      return fail(ErrorKind::unsatisfiable, "no legal token is left: all of them were choices");
    }
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!precedes({candidates.id(i), candidates.logits()[i]}, last)) kept.push_back(static_cast<std::uint32_t>(i));
    }
    candidates.keep(kept);
    return {};
  }

 private:
  [[nodiscard]] bool fires(const SampleContext& context) const {
    if (context.mersenne.has_value()) return context.mersenne->uniform_f32() <= static_cast<float>(probability_);
    DrawPlace place = context.place;
    place.purpose = Purpose::gate;
    return uniform(place) < probability_;
  }

  double probability_, threshold_;
  std::size_t min_keep_;
  bool masked_are_choices_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "xtc_probability",
        .summary = "how often the top choices are excluded; 0: never",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = 0,
        .max = 1,
    },
    {
        .name = "xtc_threshold",
        .summary = "the probability from which a token is a top choice; above 0.5: off",
        .type = ParameterType::real,
        .standard = 0.1,
        .min = 0,
        .max = 1,
    },
    kMinKeep,
};

constexpr ControlNote kNotes[] = {
    {"xtc_probability", "well-worn phrases: down; diversity: up; accuracy: down, as top choices go", ""},
    {"xtc_threshold", "fewer tokens count as top choices, so it acts less often (above 0.5: never)", ""},
    kMinKeepNote,
};

}  // namespace

extern const SamplerDefinition sampler_xtc;
constinit const SamplerDefinition sampler_xtc = {
    .head = {.name = "xtc",
             .summary = "now and then removes all top choices but the least likely of them",
             .source = "datasheet part V; p-e-w 2024",
             .parameters = kParameters},
    .rule = "with probability xtc_probability, of the tokens with p >= xtc_threshold all but the least likely go",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Xtc>(settings.real("xtc_probability"), settings.real("xtc_threshold"),
                                   settings.integer("min_keep"), settings.text("profile") == "llamacpp");
    },
};

}  // namespace plm
