// top_k: the k likeliest tokens stay (Fan et al., "Hierarchical neural story generation", ACL 2018).
//
// k = 0 and k = -1 mean all. Masked tokens count: k above the number of legal tokens keeps them all.
#include "sampling/sampler.h"

namespace plm {
namespace {

class TopK : public Sampler {
 public:
  explicit TopK(std::int64_t k) : k_(k) {}
  bool is_neutral() const override { return k_ <= 0; }
  EffectOnBest effect_on_best() const override { return k_ == 1 ? EffectOnBest::alone : EffectOnBest::kept; }
  LlamaOrder llama_order() const override { return LlamaOrder::canonical; }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (k_ > 0) candidates.keep_top(static_cast<std::size_t>(k_));
    return {};
  }

 private:
  std::int64_t k_;
};

constexpr Parameter kParameters[] = {{
    .name = "top_k",
    .summary = "only the k likeliest tokens; 0 or -1: all",
    .type = ParameterType::integer,
    .standard = std::int64_t{40},
    .neutral = std::int64_t{0},
    .min = -1,
    .max = 2147483647,
    .unit = "tokens",
}};

constexpr ControlNote kNotes[] = {
    {"top_k", "support: up to k; entropy and diversity: up (0: no cut)", "vllm: -1 or 0 for all; openai: none"},
};

}  // namespace

extern const SamplerDefinition sampler_top_k;
constinit const SamplerDefinition sampler_top_k = {
    .head = {.name = "top_k",
             .aliases = "topk",
             .summary = "keeps a fixed number of the likeliest tokens",
             .source = "datasheet part V; Fan et al. 2018",
             .parameters = kParameters},
    .rule = "the k greatest logits stay",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<TopK>(settings.integer("top_k"));
    },
};

}  // namespace plm
