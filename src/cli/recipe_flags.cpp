#include "cli/recipe_flags.h"

#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/engine_flags.h"
#include "cli/model_store.h"
#include "cli/version.h"

namespace plm {
namespace {

// Those that change speed, or where the model lies, but no result.
bool changes_no_result(std::string_view flag) {
  constexpr std::string_view kNames[] = {"model", "threads", "pin", "batch_rows", "quiet"};
  return std::find(std::begin(kNames), std::end(kNames), flag) != std::end(kNames);
}

bool is_engine_flag(std::string_view name) {
  return std::any_of(std::begin(kEngineFlags), std::end(kEngineFlags),
                     [&](const Parameter& parameter) { return parameter.name == name; });
}

}  // namespace

Result<RecipeFacts> recipe_facts(Invocation& call, const Engine& engine) {
  RecipeFacts facts{.program_version = std::string(kVersion),
                    .model_path = engine.file().path(),
                    .model = {},
                    .engine_flags = Json::object()};
  for (const GivenFlag& flag : call.flags) {
    if (!is_engine_flag(flag.name) || changes_no_result(flag.name)) continue;
    const std::string name(flag.name);
    facts.engine_flags[name] = call.all(name);
  }
  HashOptions options{.memory = {}, .on_progress = [&](double part) { call.terminal.progress("hashing", part); }};
  if (const auto folder = cache_folder(); folder.has_value()) options.memory = *folder + "/.hashes.json";
  const auto hash = model_hash(engine.file(), options);
  call.terminal.clear_progress();
  if (!hash.has_value()) return tl::unexpected<Error>(hash.error());
  facts.model = *hash;
  return facts;
}

Result<Invocation> engine_call(const ReadRecipe& recipe, std::string_view name, Terminal& terminal) {
  Invocation call{Settings(kEngineFlags), {}, {}, terminal};
  for (const auto& [key, values] : recipe.engine_flags.items()) {
    const Parameter* parameter = call.settings.find(key);
    if (parameter == nullptr || changes_no_result(parameter->name) || !values.is_array()) {
      return fail(ErrorKind::bad_input, "{}: engine.{}: expected a flag of the engine with its values as an array",
                  name, printable(key, 80));
    }
    for (const Json& value : values) {
      const std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
      const auto set = call.settings.set_text(parameter->name, text);
      if (!set.has_value()) return fail(ErrorKind::bad_input, "{}: engine: {}", name, set.error().message);
      call.flags.push_back({parameter->name, text});
    }
  }
  return call;
}

}  // namespace plm
