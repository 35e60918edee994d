// plm models: what is on this machine, where it lies, and what can be fetched. Tested by tests/cli/test_plm.py.
#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/model_store.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "json", .summary = "one JSON array", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {
    {"ACTION", "list (the default), where or remove", false, "list, where, remove"},
    {"NAME", "the model, for where and remove", false},
};

Result<int> list(Invocation& call) {
  PLM_TRY_ASSIGN(const auto fetched, fetched_models());
  const auto is_fetched = [&](const std::string& name) {
    return std::any_of(fetched.begin(), fetched.end(), [&](const FetchedModel& model) { return model.name == name; });
  };
  Json models = Json::array();
  std::string text = fetched.empty() ? "no models on this machine yet\n" : "on this machine\n";
  for (const FetchedModel& model : fetched) {
    text += fmt::format("  {:<24}{:>9.1f} MB  {}\n", printable(model.name), static_cast<double>(model.bytes) / 1e6,
                        printable(model.path));
    models.push_back({{"name", model.name}, {"path", model.path}, {"bytes", model.bytes}, {"fetched", true}});
  }
  std::string more;
  for (const CatalogEntry& entry : catalog()) {
    if (is_fetched(entry.name)) continue;
    more += fmt::format("  {:<24}{:>9.1f} MB  {} ({})\n", entry.name, static_cast<double>(entry.bytes) / 1e6,
                        entry.summary, entry.licence);
    models.push_back({{"name", entry.name}, {"path", nullptr}, {"bytes", entry.bytes}, {"fetched", false}});
  }
  if (!more.empty()) text += "\ncan be fetched with plm fetch NAME\n" + more;
  call.terminal.data(call.settings.boolean("json") ? json_text(models) + "\n" : text);
  return 0;
}

Result<FetchedModel> fetched_model(const std::string& name) {
  PLM_TRY_ASSIGN(const auto fetched, fetched_models());
  for (const FetchedModel& model : fetched) {
    if (model.name == name) return model;
  }
  return fail(ErrorKind::bad_input, "{}: no model of that name on this machine; plm models lists them",
              printable(name, 80));
}

Result<int> run(Invocation& call) {
  const std::string action = call.arguments.empty() ? "list" : call.argument(0);
  if (action == "list") return list(call);
  if (call.argument(1).empty()) return fail(ErrorKind::usage, "NAME is missing: plm models {} NAME", action);
  PLM_TRY_ASSIGN(const FetchedModel model, fetched_model(call.argument(1)));
  if (action == "where") {
    call.terminal.data(model.path + "\n");
    return 0;
  }
  std::error_code failure;
  std::filesystem::remove(model.path, failure);
  if (failure) return fail(ErrorKind::failed, "{}: cannot be removed: {}", model.path, failure.message());
  call.terminal.line(fmt::format("removed {} ({:.1f} MB)", model.path, static_cast<double>(model.bytes) / 1e6));
  return 0;
}

}  // namespace

extern constinit const Command command_models = {
    .head = {.name = "models",
             .aliases = "list",
             .summary = "lists, finds and removes the models on this machine",
             .source = "models/catalog.json",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
