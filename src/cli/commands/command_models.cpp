// plm models: what is on this machine, where it lies, and what can be fetched. Tested by tests/cli/test_plm.py.
#include <algorithm>

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
    {"NAME", "a model on this machine, for where and remove (which deletes its files)", false},
};

/// A line of the list. Names are of any length; the columns give way.
std::string row(std::string_view name, std::uint64_t bytes, std::string_view rest) {
  return fmt::format("  {:<24} {:>9.1f} MB  {}\n", name, static_cast<double>(bytes) / 1e6, rest);
}

Result<int> list(Invocation& call) {
  PLM_TRY_ASSIGN(const auto fetched, fetched_models());
  PLM_TRY_ASSIGN(const Unfinished unfinished, unfinished_downloads());
  const auto is_fetched = [&](const std::string& name) {
    return std::any_of(fetched.begin(), fetched.end(), [&](const FetchedModel& model) { return model.name == name; });
  };
  Json models = Json::array();
  std::string text = fetched.empty() ? "no models on this machine yet\n" : "on this machine\n";
  for (const FetchedModel& model : fetched) {
    text += row(printable(model.name), model.bytes,
                fmt::format("{:<10} {}", printable(model.source), printable(model.path)));
    models.push_back({{"name", model.name},
                      {"path", model.path},
                      {"bytes", model.bytes},
                      {"source", model.source},
                      {"fetched", true}});
  }
  std::string more;
  for (const CatalogEntry& entry : catalog()) {
    if (is_fetched(entry.name)) continue;
    more += row(entry.name, entry.bytes, fmt::format("{} ({})", entry.summary, entry.licence));
    models.push_back(
        {{"name", entry.name}, {"path", nullptr}, {"bytes", entry.bytes}, {"source", "catalogue"}, {"fetched", false}});
  }
  if (!more.empty()) text += "\ncan be fetched with plm fetch NAME\n" + more;
  if (unfinished.bytes > 0) {
    text += fmt::format("\nunfinished: {:.1f} MB in {}; the same plm fetch goes on, or delete that folder\n",
                        static_cast<double>(unfinished.bytes) / 1e6, printable(unfinished.path));
  }
  call.terminal.data(call.settings.boolean("json") ? json_text(models) + "\n" : text);
  return 0;
}

Result<int> run(Invocation& call) {
  const std::string action = call.arguments.empty() ? "list" : call.argument(0);
  if (action == "list") return list(call);
  if (call.argument(1).empty()) return fail(ErrorKind::usage, "NAME is missing: plm models {} NAME", action);
  PLM_TRY_ASSIGN(const FetchedModel model, find_fetched(call.argument(1)));
  if (action == "where") {
    call.terminal.data(model.path + "\n");
    return 0;
  }
  PLM_TRY(remove_fetched(model));
  call.terminal.line(
      fmt::format("removed {} ({:.1f} MB)", printable(model.path), static_cast<double>(model.bytes) / 1e6));
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
