#include "sampling/chain.h"

#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

constexpr Parameter kOrder = {
    .name = "samplers",
    .summary = "names of the samplers in their order, separated by semicolons; the draw follows",
    .type = ParameterType::text,
    .standard = std::string_view("top_k;top_p;min_p;temperature"),
    .unit = "NAMES",
};

Result<const SamplerDefinition*> find_sampler(std::string_view name) {
  std::string known;
  for (const SamplerDefinition* definition : samplers()) {
    if (is_named(name, definition->head.name, definition->head.aliases)) return definition;
    known += known.empty() ? "" : ", ";
    known += definition->head.name;
  }
  return fail(ErrorKind::usage, "samplers: unknown sampler \"{}\", known are {}", printable(name, 80), known);
}

Result<std::vector<const SamplerDefinition*>> parse_order(std::string_view order) {
  std::vector<const SamplerDefinition*> definitions;
  while (!order.empty()) {
    const std::size_t end = order.find(';');
    PLM_TRY_ASSIGN(definitions.emplace_back(), find_sampler(order.substr(0, end)));
    order.remove_prefix(end == std::string_view::npos ? order.size() : end + 1);
  }
  return definitions;
}

Json describe_sampler(const Definition& head, const Json& values) {
  Json description = {{"name", head.name}};
  for (const Parameter& parameter : head.parameters) {
    description[std::string(parameter.name)] = values.at(std::string(parameter.name));
  }
  return description;
}

}  // namespace

std::span<const Parameter> sampling_parameters() {
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> all = {kOrder};
    for (const SamplerDefinition* definition : samplers()) {
      for (const Parameter& parameter : definition->head.parameters) {
        const bool is_new = std::none_of(all.begin(), all.end(),
                                         [&](const Parameter& earlier) { return earlier.name == parameter.name; });
        if (is_new) all.push_back(parameter);
      }
    }
    return all;
  }();
  return parameters;
}

Result<Chain> Chain::create(const Settings& settings) {
  const std::string order = settings.text(kOrder.name);
  const Json values = settings.as_json();
  PLM_TRY_ASSIGN(const auto definitions, parse_order(order));
  Chain chain;
  Json description = Json::array();
  for (const SamplerDefinition* definition : definitions) {
    PLM_TRY_ASSIGN(auto sampler, definition->create(settings));
    if (sampler->is_neutral()) continue;
    chain.samplers_.push_back(std::move(sampler));
    description.push_back(describe_sampler(definition->head, values));
  }
  chain.description_ = std::make_shared<const Json>(std::move(description));
  return chain;
}

Result<Selection> Chain::select(std::span<const float> logits, const DrawPlace& place, Candidates& workspace) {
  const auto at_position = [&](const Error& error) { return error.within(fmt::format("position {}", place.cell)); };
  PLM_TRY(workspace.reset(logits).map_error(at_position));
  for (const auto& sampler : samplers_) PLM_TRY(sampler->apply(workspace, {.place = place}).map_error(at_position));
  const Candidates::Pick pick = workspace.pick(uniform(place));
  return Selection{.id = pick.id,
                   .probability = pick.probability,
                   .log_probability = pick.log_probability,
                   .candidates_left = workspace.support()};
}

bool Chain::is_greedy() const {
  // The first sampler that does not merely keep the best decides: after `alone` there is nothing left to change.
  const auto decisive = std::find_if(samplers_.begin(), samplers_.end(), [](const auto& sampler) {
    return sampler->effect_on_best() != EffectOnBest::kept;
  });
  return decisive != samplers_.end() && (*decisive)->effect_on_best() == EffectOnBest::alone;
}

}  // namespace plm
