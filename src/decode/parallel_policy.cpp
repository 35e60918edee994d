#include "decode/parallel_policy.h"

#include <algorithm>

#include "base/utf8.h"
#include "decode/decoder.h"

namespace plm {
namespace {

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

std::span<const Parameter> parallel_parameters() {
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> all(std::begin(kOwn), std::end(kOwn));
    const auto add = [&](const Definition& head) {
      for (const Parameter& parameter : head.parameters) {
        if (std::ranges::find(all, parameter.name, &Parameter::name) == all.end()) all.push_back(parameter);
      }
    };
    for (const ScheduleDefinition* definition : schedules()) add(definition->head);
    for (const DecoderDefinition* definition : decoders()) add(definition->head);
    return all;
  }();
  return parameters;
}

Result<ParallelPolicy> ParallelPolicy::create(const Settings& settings, const DiffusionTraits& traits) {
  ParallelPolicy policy{.traits = traits, .settings = settings};
  PLM_TRY_ASSIGN(policy.rule.confidence, named("confidence", settings.text("confidence"), confidences()));
  PLM_TRY_ASSIGN(const ScheduleDefinition* schedule, named("schedule", settings.text("schedule"), schedules()));
  PLM_TRY_ASSIGN(policy.schedule, schedule->create(settings));
  policy.block_length = traits.block_length;
  if (settings.has("block_length")) policy.block_length = static_cast<std::size_t>(settings.integer("block_length"));
  if (traits.attention != DiffusionAttention::full && policy.block_length == 0) {
    return fail(ErrorKind::usage,
                "block_length: this model writes block by block; give the length that it was trained with");
  }
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
  policy.rule.suppressed = {traits.mask_token};
  policy.draws = policy.rule.temperature > 0;
  return policy;
}

}  // namespace plm
