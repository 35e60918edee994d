// penalties: tokens of the recent past become less likely (repetition: Keskar et al., "CTRL", 2019; presence and
// frequency: OpenAI's API).
//
// With c the number of times a token is in the window: z becomes z / r if z > 0 and z * r otherwise, then c * frequency
// + presence is subtracted. The window is the last repeat_last_n tokens of prompt and text; penalty_prompt says which
// of the penalties see the prompt. With repeat_slope < 1 tokens found only in the older half of the window get
// 1 + (r - 1) * slope instead of r > 1 (KoboldCpp).
#include <algorithm>
#include <vector>

#include "sampling/sampler.h"

namespace plm {
namespace {

struct Penalties {
  float repeat, slope, presence, frequency;
  std::int64_t window;
  bool repeat_counts_prompt, others_count_prompt;
};

// How often the token is there; what does not count the prompt counts `written` only.
struct Count {
  float all = 0, written = 0;
  bool is_recent = false;  // in the newer half of the window
  bool is_recently_written = false;
};

class PenaltiesSampler : public Sampler {
 public:
  explicit PenaltiesSampler(const Penalties& penalties) : penalties_(penalties) {}
  bool is_neutral() const override {
    return penalties_.window == 0 || (penalties_.repeat == 1 && penalties_.presence == 0 && penalties_.frequency == 0);
  }

  Result<void> apply(Candidates& candidates, const SampleContext& context) const override {
    if (is_neutral()) return {};
    std::vector<std::int32_t> ids;
    std::vector<Count> counts;
    count(context.history, ids, counts);
    return candidates.adjust(ids, [&](std::size_t k, float logit) { return penalised(logit, counts[k]); });
  }

 private:
  void count(const History& history, std::vector<std::int32_t>& ids, std::vector<Count>& counts) const {
    const auto window = history.last(penalties_.window);
    const std::size_t first = history.tokens.size() - window.size();
    std::vector<std::uint32_t> places(window.size());  // in the window, by token and then by place
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::uint32_t>(i);
    std::sort(places.begin(), places.end(),
              [&](std::uint32_t a, std::uint32_t b) { return window[a] != window[b] ? window[a] < window[b] : a < b; });
    for (const std::uint32_t place : places) {
      if (ids.empty() || ids.back() != window[place]) {
        ids.push_back(window[place]);
        counts.emplace_back();
      }
      Count& count = counts.back();
      const bool is_written = first + place >= history.prompt_length;
      const bool is_recent = place >= window.size() / 2;
      count.all += 1;
      count.is_recent = count.is_recent || is_recent;
      if (is_written) count.written += 1;
      count.is_recently_written = count.is_recently_written || (is_written && is_recent);
    }
  }

  [[nodiscard]] float penalised(float logit, const Count& count) const {
    const bool repeats = penalties_.repeat_counts_prompt ? count.all > 0 : count.written > 0;
    if (repeats && penalties_.repeat != 1) {
      const bool is_recent = penalties_.repeat_counts_prompt ? count.is_recent : count.is_recently_written;
      const float repeat =
          !is_recent && penalties_.repeat > 1 ? 1 + (penalties_.repeat - 1) * penalties_.slope : penalties_.repeat;
      logit = within_float(logit <= 0 ? static_cast<double>(logit * repeat) : static_cast<double>(logit / repeat));
      if (logit == -std::numeric_limits<float>::infinity()) logit = std::numeric_limits<float>::lowest();
    }
    const float occurrences = penalties_.others_count_prompt ? count.all : count.written;
    if (occurrences == 0) return logit;
    return std::clamp(logit - (occurrences * penalties_.frequency + penalties_.presence),
                      std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
  }

  Penalties penalties_;
};

constexpr Parameter kParameters[] = {
    {
        .name = "repeat_penalty",
        .aliases = "rep_pen, repetition_penalty",
        .summary = "divides the logits of tokens seen in the window (multiplies those below 0)",
        .type = ParameterType::real,
        .standard = 1.0,
        .neutral = 1.0,
        .min = 0.01,
        .max = 100,
    },
    {
        .name = "repeat_last_n",
        .aliases = "rep_pen_range, penalty_last_n",
        .summary = "length of the window that the penalties look at; 0: off, -1: everything",
        .type = ParameterType::integer,
        .standard = std::int64_t{64},
        .min = -1,
        .max = 2147483647,
        .unit = "tokens",
    },
    {
        .name = "repeat_slope",
        .aliases = "rep_pen_slope",
        .summary = "share of repeat_penalty for tokens seen only in the older half of the window",
        .type = ParameterType::real,
        .standard = 1.0,
        .min = 0,
        .max = 1,
    },
    {
        .name = "presence_penalty",
        .summary = "subtracted from the logits of tokens seen in the window",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = -1000,
        .max = 1000,
    },
    {
        .name = "frequency_penalty",
        .summary = "subtracted for every time the token is in the window",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = -1000,
        .max = 1000,
    },
    {
        .name = "penalty_prompt",
        .summary = "which penalties count the prompt's tokens: all, only repeat_penalty (repeat), or none",
        .type = ParameterType::choice,
        .standard = std::string_view("all"),
        .choices = "all, repeat, none",
    },
};

constexpr ControlNote kNotes[] = {
    {"repeat_penalty",
     "repetition: down; from about 1.15 on function words, digits and brackets are displaced and synonyms turn strange",
     "koboldcpp: rep_pen; vllm, hugging face: repetition_penalty; llama.cpp, ollama: repeat_penalty"},
    {"repeat_last_n", "more of the past counts: repetition down, displaced words up",
     "koboldcpp: rep_pen_range; llama.cpp, ollama: repeat_last_n; vllm: none, everything counts"},
    {"repeat_slope", "the older half of the window counts as much as the newer", "koboldcpp: rep_pen_slope"},
    {"presence_penalty", "new words and topics: up; repetition: down, once for each word", ""},
    {"frequency_penalty", "repetition: down, more with every occurrence; long texts lose their function words",
     "koboldcpp: none, taken as presence_penalty"},
    {"penalty_prompt", "what the prompt holds is penalised too: copying from it is harmed",
     "llama.cpp, koboldcpp: all; vllm: repeat; openai: none"},
};

}  // namespace

extern const SamplerDefinition sampler_penalties;
constinit const SamplerDefinition sampler_penalties = {
    .head = {.name = "penalties",
             .aliases = "repetition_penalty, rep_pen",
             .summary = "makes tokens of the recent past less likely",
             .source = "datasheet part V; Keskar et al. 2019",
             .parameters = kParameters},
    .rule = "z' = z / r if z > 0 else z r, for tokens of the window; then z' -= count frequency + presence",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts&) -> Result<std::unique_ptr<Sampler>> {
      const std::string counted = settings.text("penalty_prompt");
      return std::make_unique<PenaltiesSampler>(Penalties{
          .repeat = static_cast<float>(settings.real("repeat_penalty")),
          .slope = static_cast<float>(settings.real("repeat_slope")),
          .presence = static_cast<float>(settings.real("presence_penalty")),
          .frequency = static_cast<float>(settings.real("frequency_penalty")),
          .window = settings.integer("repeat_last_n"),
          .repeat_counts_prompt = counted != "none",
          .others_count_prompt = counted == "all",
      });
    },
};

}  // namespace plm
