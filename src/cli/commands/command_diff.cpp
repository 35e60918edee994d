// plm diff: which fields of two recipes differ, and what the difference of a control does to a text.
// Tested by tests/cli/test_sampling.py.
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "engine/recipe.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "json", .summary = "a JSON array", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {{"A", "a recipe"}, {"B", "another one"}};

Result<Json> load(const std::string& name) {
  PLM_TRY_ASSIGN(const std::string text, read_text(name));
  PLM_TRY_ASSIGN(Json json, parse_json(text, name));
  PLM_TRY(read_recipe(json, name));
  return json;
}

std::string_view effect_of(std::string_view control) {
  for (const SamplerDefinition* sampler : samplers()) {
    for (const ControlNote& note : sampler->notes) {
      if (note.parameter == control) return note.effect;
    }
  }
  return {};
}

// Every control, also those that only one of the recipes gives: the other one has the default.
std::vector<RecipeDifference> differences_with_defaults(Json before, Json after) {
  for (Json* recipe : {&before, &after}) {
    const Json& other = recipe == &before ? after : before;
    Settings settings(sampling_parameters());
    const Json defaults = settings.as_json();
    for (const auto& [key, value] : other["sampling"].items()) {
      Json& own = (*recipe)["sampling"];
      if (!own.contains(key) && defaults.contains(key)) own[key] = defaults.at(key);
    }
  }
  return recipe_differences(before, after);
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const Json before, load(call.argument(0)));
  PLM_TRY_ASSIGN(const Json after, load(call.argument(1)));
  Json list = Json::array();
  std::string text;
  for (const auto& [field, a, b] : differences_with_defaults(before, after)) {
    constexpr std::string_view kOfSampling = "sampling.";
    const std::string_view control =
        field.starts_with(kOfSampling) ? std::string_view(field).substr(kOfSampling.size()) : std::string_view();
    const std::string_view effect = effect_of(control);
    Json entry = {{"field", field}, {"a", a}, {"b", b}};
    if (!effect.empty()) entry["raised"] = effect;
    list.push_back(std::move(entry));
    const auto shown = [](const std::string& value) {
      return value.empty() ? std::string("missing") : printable(value, 200);
    };
    text += fmt::format("{}: {} -> {}\n", printable(field, 80), shown(a), shown(b));
    if (!effect.empty()) text += fmt::format("    raised: {}\n", effect);
  }
  call.terminal.data(call.settings.boolean("json") ? json_text(list, 1) + "\n" : text);
  if (list.empty()) call.terminal.line("[no difference]");
  return list.empty() ? 0 : static_cast<int>(ErrorKind::failed);
}

}  // namespace

extern constinit const Command command_diff = {
    .head = {.name = "diff",
             .summary = "tells in what two recipes differ, and what that does",
             .source = "datasheet 28, the couplings of controls",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
