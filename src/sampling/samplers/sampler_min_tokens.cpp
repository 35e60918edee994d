// min_tokens: the tokens that end a text are forbidden until so many tokens have been written, or always (vLLM's
// min_tokens; ban_eos_token of KoboldCpp and ignore_eos of llama.cpp's server).
#include <algorithm>

#include "sampling/sampler.h"

namespace plm {
namespace {

class MinTokens : public Sampler {
 public:
  MinTokens(std::int64_t count, bool forbids_always, std::vector<std::int32_t> end_tokens)
      : count_(static_cast<std::size_t>(count)), forbids_always_(forbids_always), end_tokens_(std::move(end_tokens)) {
    std::sort(end_tokens_.begin(), end_tokens_.end());
    end_tokens_.erase(std::unique(end_tokens_.begin(), end_tokens_.end()), end_tokens_.end());
  }
  bool is_neutral() const override { return count_ == 0 && !forbids_always_; }
  Result<void> apply(Candidates& candidates, const SampleContext& context) const override {
    if (!forbids_always_ && context.history.written() >= count_) return {};
    return candidates.adjust(end_tokens_, [](std::size_t, float) { return -std::numeric_limits<float>::infinity(); });
  }

 private:
  std::size_t count_;
  bool forbids_always_;
  std::vector<std::int32_t> end_tokens_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "min_tokens",
        .summary = "tokens to write before the text may end",
        .type = ParameterType::integer,
        .standard = std::int64_t{0},
        .neutral = std::int64_t{0},
        .min = 0,
        .max = 2147483647,
        .unit = "tokens",
    },
    {
        .name = "ban_eos",
        .aliases = "ban_eos_token",
        .summary = "the model may never end the text",
        .type = ParameterType::boolean,
        .standard = false,
        .neutral = false,
    },
};

constexpr ControlNote kNotes[] = {
    {"min_tokens", "length: at least this; forced text may ramble or repeat", "vllm: min_tokens; llama.cpp: none"},
    {"ban_eos", "length: to the limit; loops become likelier", "koboldcpp: ban_eos_token; llama.cpp, vllm: ignore_eos"},
};

}  // namespace

extern const SamplerDefinition sampler_min_tokens;
constinit const SamplerDefinition sampler_min_tokens = {
    .head = {.name = "min_tokens",
             .summary = "forbids the end of the text for some tokens, or always",
             .source = "datasheet part V; vLLM",
             .parameters = kParameters},
    .rule = "z' = -inf for end tokens while fewer than min_tokens are written, or always with ban_eos",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts& texts) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<MinTokens>(settings.integer("min_tokens"), settings.boolean("ban_eos"),
                                         texts.end_tokens());
    },
};

}  // namespace plm
