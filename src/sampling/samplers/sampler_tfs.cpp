// tfs: the tail is cut where the curve of sorted probabilities becomes flat (Phénix and Egan, "Tail free sampling",
// 2019).
//
// With p sorted, d_i = |(p_i - p_{i+1}) - (p_{i+1} - p_{i+2})| divided by their sum; the first i tokens stay, where i
// is the first at which d_0 + ... + d_i exceeds z and i >= 1. When no curve is left (a sum of at most 1e-6) all d_i are
// equal. Tokens less likely than 2^-40 of the likeliest do not bend a curve of float32 and are not looked at, so that a
// long tail need not be sorted.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/portable_math.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

class Tfs : public Sampler {
 public:
  explicit Tfs(double z) : z_(z) {}
  bool is_neutral() const override { return z_ >= 1; }
  EffectOnBest effect_on_best() const override { return EffectOnBest::kept; }
  LlamaOrder llama_order() const override { return LlamaOrder::canonical; }

  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (z_ >= 1 || candidates.size() <= 2) return {};
    const auto curve = curvature(probabilities(candidates), candidates.size());
    double total = 0;
    for (const double bend : curve) total += bend;
    const bool is_flat = total <= 1e-6;
    const double even = 1.0 / static_cast<double>(candidates.size() - 2);
    double reached = 0;
    for (std::size_t i = 0; i < candidates.size() - 2; ++i) {
      reached += is_flat ? even : i < curve.size() ? curve[i] / total : 0.0;
      if (reached > z_ && i >= 1) {
        candidates.keep_top(i);
        break;
      }
    }
    return {};
  }

 private:
  // In descending order, of the tokens that are looked at.
  static std::vector<double> probabilities(Candidates& candidates) {
    constexpr float kLeast = 0x1p-40F;
    const auto [weights, total] = candidates.weigh();
    std::vector<float> looked_at;
    for (const float weight : weights) {
      if (weight >= kLeast) looked_at.push_back(weight);
    }
    std::sort(looked_at.begin(), looked_at.end(), std::greater<>());
    std::vector<double> p;
    for (const float weight : looked_at) p.push_back(static_cast<double>(weight) / total);
    return p;
  }

  // Of all places but the last two; what follows the probabilities that are looked at counts 0.
  static std::vector<double> curvature(std::vector<double> p, std::size_t candidates) {
    const std::size_t places = std::min(p.size(), candidates - 2);
    p.resize(places + 2);
    std::vector<double> bends(places);
    for (std::size_t i = 0; i < places; ++i) bends[i] = std::abs((p[i] - p[i + 1]) - (p[i + 1] - p[i + 2]));
    return bends;
  }

  double z_;
};

constexpr Parameter kParameters[] = {{
    .name = "tfs",
    .aliases = "tfs_z",
    .summary = "only the head of the distribution, up to this share of its curvature; 1: all",
    .type = ParameterType::real,
    .standard = 1.0,
    .neutral = 1.0,
    .min = 0,
    .max = 1,
}};

constexpr ControlNote kNotes[] = {
    {"tfs", "support, entropy and diversity: up (1: no cut)", "koboldcpp, textgen: tfs; llama.cpp: removed"},
};

}  // namespace

extern const SamplerDefinition sampler_tfs;
constinit const SamplerDefinition sampler_tfs = {
    .head = {.name = "tfs",
             .aliases = "tfs_z, tail_free",
             .summary = "cuts the tail where the curve of probabilities becomes flat",
             .source = "datasheet part V; Phenix and Egan 2019",
             .parameters = kParameters},
    .rule =
        "d_i = |(p_i - p_{i+1}) - (p_{i+1} - p_{i+2})| / sum; the tokens before the first i with d_0 + ... + d_i > z "
        "stay",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Tfs>(settings.real("tfs"));
    },
};

}  // namespace plm
