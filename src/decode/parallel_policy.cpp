#include "decode/parallel_policy.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "decode/decoder.h"
#include "decode/page_length.h"

namespace plm {
namespace {

constexpr std::size_t kMostPositions = std::size_t{1} << 20;

constexpr Parameter kOwn[] = {
    {
        .name = "schedule",
        .summary = "which positions a pass decides, one of the schedules in plm describe",
        .type = ParameterType::text,
        .standard = std::string_view("threshold"),
        .unit = "NAME",
    },
    {
        .name = "confidence",
        .summary = "how sure the network is of a proposal, one of the confidences in plm describe",
        .type = ParameterType::text,
        .standard = std::string_view("probability"),
        .unit = "NAME",
    },
    {
        .name = "block_length",
        .summary = "positions of a block; blocks are written one after another; 0: the page is one block; not set: the "
                   "length that the model was trained with",
        .type = ParameterType::integer,
        .min = 0,
        .max = 1U << 20,
        .unit = "tokens",
    },
    {
        .name = "length",
        .summary = "tokens of a page, or of a hole that does not say its own; auto: as many as the model wants, up to "
                   "those asked for",
        .type = ParameterType::text,
        .unit = "TOKENS|auto",
    },
    {
        .name = "passes",
        .aliases = "steps, diffusion_steps",
        .summary = "passes over the page, shared among its blocks, for schedules that count; 0: one a position",
        .type = ParameterType::integer,
        .standard = std::int64_t{0},
        .min = 0,
        .max = 1U << 20,
        .unit = "passes",
    },
    {
        .name = "page_temperature",
        .summary = "above 0, proposals are drawn at this temperature; 0: the likeliest token is proposed",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = 0,
        .max = 100,
    },
    {
        .name = "page_top_k",
        .summary = "proposals are drawn from so many tokens at most; 0: all",
        .type = ParameterType::integer,
        .standard = std::int64_t{0},
        .neutral = std::int64_t{0},
        .min = 0,
        .max = 1U << 24,
        .unit = "tokens",
    },
    {
        .name = "page_top_p",
        .summary = "proposals are drawn from the likeliest tokens that have this probability together",
        .type = ParameterType::real,
        .standard = 1.0,
        .neutral = 1.0,
        .min = 0,
        .max = 1,
    },
    {
        .name = "confidence_from",
        .summary = "distribution that the confidence is read from",
        .type = ParameterType::choice,
        .standard = std::string_view("raw"),
        .choices = "raw, tempered",
    },
    {
        .name = "page_guidance",
        .summary = "how far proposals are moved away from those without the prompt; costs a second pass",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = 0,
        .max = 100,
    },
};

template <typename Definition>
Result<const Definition*> named(std::string_view parameter, const std::string& name,
                                std::span<const Definition* const> all) {
  std::string known;
  for (const Definition* definition : all) {
    if (is_named(name, definition->head.name, definition->head.aliases)) return definition;
    known += known.empty() ? "" : ", ";
    known += definition->head.name;
  }
  return fail(ErrorKind::usage, "{}: \"{}\" is not known; known are {}", parameter, printable(name, 80), known);
}

}  // namespace

Result<std::optional<std::size_t>> page_length(const Settings& settings) {
  if (!settings.has("length") || settings.text("length") == "auto") return std::nullopt;
  const std::string text = settings.text("length");
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size() || length == 0 || length > kMostPositions) {
    return fail(ErrorKind::usage, "length: found \"{}\", expected auto or a number from 1 to {}", printable(text, 40),
                kMostPositions);
  }
  return length;
}

std::span<const Parameter> parallel_parameters() {
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> all(std::begin(kOwn), std::end(kOwn));
    const auto add = [&](std::span<const Parameter> parameters_of_one) {
      for (const Parameter& parameter : parameters_of_one) {
        if (std::ranges::find(all, parameter.name, &Parameter::name) == all.end()) all.push_back(parameter);
      }
    };
    add(length_parameters());
    add(page_cache_parameters());
    for (const ScheduleDefinition* definition : schedules()) add(definition->head.parameters);
    for (const DecoderDefinition* definition : decoders()) add(definition->head.parameters);
    return all;
  }();
  return parameters;
}

Result<ParallelPolicy> ParallelPolicy::create(const Settings& settings, const DiffusionTraits& traits) {
  ParallelPolicy policy{.traits = traits, .settings = settings};
  PLM_TRY_ASSIGN(policy.rule.confidence, named("confidence", settings.text("confidence"), confidences()));
  PLM_TRY_ASSIGN(const ScheduleDefinition* schedule, named("schedule", settings.text("schedule"), schedules()));
  PLM_TRY_ASSIGN(policy.schedule, schedule->create(settings));
  policy.schedule_name = schedule->head.name;
  policy.block_length = traits.block_length;
  if (settings.has("block_length")) policy.block_length = static_cast<std::size_t>(settings.integer("block_length"));
  if (traits.attention != DiffusionAttention::full && policy.block_length == 0) {
    return fail(ErrorKind::usage,
                "block_length: this model writes block by block; give the length that it was trained with");
  }
  PLM_TRY_ASSIGN(policy.cache, PageCacheRule::create(settings, traits));
  PLM_TRY(page_length(settings));
  policy.finds_length = settings.has("length") && settings.text("length") == "auto";
  policy.passes = static_cast<std::size_t>(settings.integer("passes"));
  policy.rule.temperature = settings.real("page_temperature");
  policy.rule.top_k = static_cast<std::size_t>(settings.integer("page_top_k"));
  policy.rule.top_p = settings.real("page_top_p");
  policy.rule.score_tempered = settings.text("confidence_from") == "tempered";
  policy.rule.guidance = settings.real("page_guidance");
  if (policy.rule.guidance != 0 && traits.attention != DiffusionAttention::full) {
    return fail(ErrorKind::usage,
                "page_guidance: this model remembers the prompt, which guidance would have to mask; set it to 0");
  }
  if (traits.mask_token >= 0) policy.rule.suppressed = {traits.mask_token};
  policy.draws = policy.rule.temperature > 0;
  return policy;
}

}  // namespace plm
