// adaptive_p: tokens near a target probability are preferred, and the target moves so that the average comes out right
// (MrJackSpade, "Adaptive-P", 2025; llama.cpp).
//
// With p the probabilities, W and N the decayed sums of the chosen tokens' p and of 1 (they start as if the average
// were the target), the aim is a = clamp(2 * target - W / N, 0, 1) and every logit becomes 5 - 10 x^2 / (1 + x) with x
// = |p - a| / 0.3. After a token is accepted W = p + decay * W and N = 1 + decay * N. It needs a truncating sampler
// before it: tokens of no probability get finite logits.
#include <algorithm>
#include <array>
#include <cmath>

#include "sampling/sampler.h"

namespace plm {
namespace {

class AdaptiveP : public Sampler {
 public:
  AdaptiveP(double target, double decay)
      : target_(target), decay_(decay), initial_{std::max(target, 0.0) / (1 - decay), 1 / (1 - decay)} {}
  bool is_neutral() const override { return target_ < 0; }
  bool governs_draw() const override { return true; }
  std::span<const double> initial_state() const override { return initial_; }

  Result<void> apply(Candidates& candidates, const SampleContext& context) const override {
    if (is_neutral()) return {};
    PLM_CHECK(context.state.size() == initial_.size());
    const double aim = std::clamp(2 * target_ - context.state[0] / context.state[1], 0.0, 1.0);
    candidates.note_probabilities();
    candidates.set_logits_by_noted([&](double p) {
      const double x = std::abs(p - aim) / 0.3;
      return static_cast<float>(5 - 10 * x * x / (1 + x));
    });
    return {};
  }

  void learn(const Candidates& candidates, const Candidates::Pick& pick, const SampleContext& context) const override {
    context.state[0] = candidates.noted_probability(pick.id) + decay_ * context.state[0];
    context.state[1] = 1 + decay_ * context.state[1];
  }

 private:
  double target_, decay_;
  std::array<double, 2> initial_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "adaptive_target",
        .summary = "probability that chosen tokens shall have on average; negative: off",
        .type = ParameterType::real,
        .standard = -1.0,
        .neutral = -1.0,
        .min = -1,
        .max = 1,
    },
    {
        .name = "adaptive_decay",
        .summary = "how slowly the average forgets",
        .type = ParameterType::real,
        .standard = 0.9,
        .min = 0,
        .max = 0.99,
    },
};

constexpr ControlNote kNotes[] = {
    {"adaptive_target", "average probability of chosen tokens: up; entropy and diversity: down",
     "llama.cpp, koboldcpp: adaptive_target"},
    {"adaptive_decay", "the average reaches farther back, so corrections are slower and smaller", ""},
};

}  // namespace

extern const SamplerDefinition sampler_adaptive_p;
constinit const SamplerDefinition sampler_adaptive_p = {
    .head = {.name = "adaptive_p",
             .summary = "prefers tokens near a target probability, and keeps their average there",
             .source = "datasheet part V; MrJackSpade 2025",
             .parameters = kParameters},
    .rule =
        "a = clamp(2 target - W / N, 0, 1); x = |p - a| / 0.3; z' = 5 - 10 x^2 / (1 + x); then W = p + decay W, N = 1 "
        "+ decay N",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<AdaptiveP>(settings.real("adaptive_target"), settings.real("adaptive_decay"));
    },
};

}  // namespace plm
