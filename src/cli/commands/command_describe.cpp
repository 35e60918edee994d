// plm describe: everything that is registered, from the same definitions that drive flags and help.
// Tested by tests/cli/test_plm.py.
#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/control_page.h"
#include "decode/decoder.h"
#include "model/architecture.h"
#include "sampling/sampler.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "json", .summary = "one JSON object", .type = ParameterType::boolean, .tag = Tag::pipe},
    {.name = "markdown",
     .summary = "as Markdown, for reference pages",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "controls",
     .summary = "the reference page of every sampling control, as Markdown",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};

constexpr Argument kArguments[] = {
    {"NAME", "a control of sampling, or whatever else is registered; not given: all of it", false}};

struct Registry {
  std::string_view title;
  std::vector<Definition> entries;  // with all parameters
};

template <typename Entry>
Registry registry_of(std::string_view title, std::span<const Entry* const> entries) {
  Registry registry{title, {}};
  for (const Entry* entry : entries) registry.entries.push_back(entry->head);
  return registry;
}

std::vector<Registry> all_registries() {
  Registry command_list{"commands", {}};
  for (const Command* command : commands()) {
    command_list.entries.push_back(command->head);
    command_list.entries.back().parameters = command_parameters(*command);
  }
  return {command_list,
          registry_of("architectures", architectures()),
          registry_of("storage types", storage_types()),
          registry_of("samplers", samplers()),
          registry_of("decoders", decoders()),
          registry_of("schedules", schedules()),
          registry_of("confidences", confidences())};
}

std::string_view type_word(ParameterType type) {
  switch (type) {
    case ParameterType::boolean: return "boolean";
    case ParameterType::integer: return "integer";
    case ParameterType::real: return "real";
    case ParameterType::text: return "text";
    case ParameterType::choice: return "choice";
  }
  return "";
}

std::string_view tag_word(Tag tag) {
  switch (tag) {
    case Tag::model: return "MODEL";
    case Tag::pipe: return "PIPE";
    case Tag::inf: return "INF";
    case Tag::backend: return "BACKEND";
  }
  return "";
}

Json parameter_json(const Parameter& parameter) {
  Json object = {{"name", parameter.name},
                 {"aliases", split_list(parameter.aliases)},
                 {"summary", parameter.summary},
                 {"type", type_word(parameter.type)},
                 {"tag", tag_word(parameter.tag)}};
  if (const std::string text = value_text(parameter.standard); !text.empty()) object["default"] = text;
  if (const std::string text = value_text(parameter.neutral); !text.empty()) object["neutral"] = text;
  if (const std::string text = allowed_text(parameter); !text.empty()) object["allowed"] = text;
  if (!parameter.unit.empty()) object["unit"] = parameter.unit;
  return object;
}

std::string as_json(const std::vector<Registry>& registries) {
  Json all = Json::object();
  for (const Registry& registry : registries) {
    Json entries = Json::array();
    for (const Definition& entry : registry.entries) {
      Json parameters = Json::array();
      for (const Parameter& parameter : entry.parameters) parameters.push_back(parameter_json(parameter));
      entries.push_back({{"name", entry.name},
                         {"aliases", split_list(entry.aliases)},
                         {"summary", entry.summary},
                         {"source", entry.source},
                         {"parameters", parameters}});
    }
    all[std::string(registry.title)] = std::move(entries);
  }
  return json_text(all, 2) + "\n";
}

std::string as_markdown(const std::vector<Registry>& registries) {
  std::string text = "# Everything registered\n\nWritten by `plm describe --markdown`.\n";
  for (const Registry& registry : registries) {
    text += fmt::format("\n## {}\n", registry.title);
    for (const Definition& entry : registry.entries) {
      text += fmt::format("\n### {}\n{}. Source: {}.\n", entry.name, entry.summary, entry.source);
      if (!entry.aliases.empty()) text += fmt::format("Also: {}.\n", entry.aliases);
      if (entry.parameters.empty()) continue;
      text +=
          "\n| parameter | type | default | allowed | tag | what it does |\n| --- | --- | --- | --- | --- | --- |\n";
      for (const Parameter& parameter : entry.parameters) {
        text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", parameter.name, type_word(parameter.type),
                            value_text(parameter.standard), allowed_text(parameter), tag_word(parameter.tag),
                            parameter.summary);
      }
    }
  }
  return text;
}

std::string as_text(const std::vector<Registry>& registries) {
  std::string text;
  for (const Registry& registry : registries) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", registry.title);
    for (const Definition& entry : registry.entries) text += fmt::format("  {:<20}{}\n", entry.name, entry.summary);
  }
  return text;
}

// All that is said of what is called `name`; samplers and their controls have more to say than the others.
std::string text_of(const std::vector<Registry>& registries, std::string_view name) {
  std::string text = control_text(name);
  for (const Registry& registry : registries) {
    if (registry.title == "samplers") continue;
    for (const Definition& entry : registry.entries) {
      if (!is_named(name, entry.name, entry.aliases)) continue;
      text += fmt::format("{}{}, of the {}: {}\n  source: {}\n", text.empty() ? "" : "\n", entry.name, registry.title,
                          entry.summary, entry.source);
      if (!entry.aliases.empty()) text += fmt::format("  also: {}\n", entry.aliases);
      for (const Parameter& parameter : entry.parameters) {
        text += fmt::format("  {:<24}{}\n", parameter.name, parameter.summary);
      }
    }
  }
  return text;
}

// Those that are called so, or have a parameter that is.
std::vector<Registry> named(std::vector<Registry> registries, std::string_view name) {
  for (Registry& registry : registries) {
    std::erase_if(registry.entries, [&](const Definition& entry) {
      const auto has = [&](const Parameter& each) { return is_named(name, each.name, each.aliases); };
      return !is_named(name, entry.name, entry.aliases) &&
             (registry.title == "commands" || std::ranges::none_of(entry.parameters, has));
    });
  }
  std::erase_if(registries, [](const Registry& registry) { return registry.entries.empty(); });
  return registries;
}

Result<int> run(Invocation& call) {
  if (call.settings.boolean("controls")) {
    call.terminal.data(control_page());
    return 0;
  }
  auto registries = all_registries();
  const std::string name = call.argument(0);
  if (!name.empty()) {
    registries = named(std::move(registries), name);
    if (registries.empty()) {
      return fail(ErrorKind::usage, "nothing is called \"{}\"; plm describe without a name lists what there is",
                  printable(name, 80));
    }
    const bool is_for_reading = !call.settings.boolean("json") && !call.settings.boolean("markdown");
    if (const auto text = text_of(registries, name); is_for_reading && !text.empty()) {
      call.terminal.data(text);
      return 0;
    }
  }
  if (call.settings.boolean("json")) {
    call.terminal.data(as_json(registries));
  } else {
    call.terminal.data(call.settings.boolean("markdown") ? as_markdown(registries) : as_text(registries));
  }
  return 0;
}

}  // namespace

extern constinit const Command command_describe = {
    .head = {.name = "describe",
             .summary = "lists every command, sampler, storage type, decoder, or tells all about one of them",
             .source = "the registries",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
