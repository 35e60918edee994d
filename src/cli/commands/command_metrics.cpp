// plm metrics: every number that can be told of texts, from their trace, from records of runs, or from the texts alone.
// Tested by tests/cli/test_metrics.py.
#include <cmath>

#include "base/json.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "lab/metric.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "set",
     .summary = "sets a parameter of a metric, as distinct_n.n=3; may be repeated",
     .type = ParameterType::text,
     .unit = "METRIC.NAME=VALUE",
     .tag = Tag::pipe},
    {.name = "all",
     .summary = "those that the file does not tell, too",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "json", .summary = "one JSON object", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {{"FILE", "a trace, records of runs as JSON, or a text; - is standard input"}};

// Sets what the flag says, if it is about this metric.
Result<void> set_parameters(const Invocation& call, const Metric& metric, Settings& settings) {
  for (const std::string& setting : call.all("set")) {
    const std::size_t dot = setting.find('.'), equals = setting.find('=');
    if (dot == std::string::npos || equals == std::string::npos || dot > equals ||
        find_metric(setting.substr(0, dot)) == nullptr) {
      return fail(ErrorKind::usage, "--set: found \"{}\", expected METRIC.NAME=VALUE with a metric that there is",
                  setting);
    }
    if (find_metric(setting.substr(0, dot)) != &metric) continue;
    PLM_TRY(settings.set_text(setting.substr(dot + 1, equals - dot - 1), setting.substr(equals + 1)));
  }
  return {};
}

Json as_json(const std::optional<double>& value) {
  if (!value.has_value()) return nullptr;
  return std::isinf(*value) ? Json(*value > 0 ? "inf" : "-inf") : Json(*value);
}

std::string as_text(const Metric& metric, const std::optional<double>& value) {
  return fmt::format("{:<24}{:>12} {:<8}{}\n", metric.head.name,
                     value.has_value() ? fmt::format("{:.4g}", *value) : "-", metric.unit, metric.head.summary);
}

Result<int> run(Invocation& call) {
  const std::string name = call.argument(0);
  PLM_TRY_ASSIGN(const std::string file, read_text(name));
  PLM_TRY_ASSIGN(const std::vector<RunRecord> records, read_run_records(file, name));
  Json object = Json::object();
  std::string text;
  for (const Metric* metric : metrics()) {
    Settings settings(metric->head.parameters);
    PLM_TRY(set_parameters(call, *metric, settings));
    const auto value = metric->measure(records, settings);
    object[std::string(metric->head.name)] = {{"value", as_json(value)},
                                              {"unit", metric->unit},
                                              {"conditioning", metric->conditioning},
                                              {"parameters", settings.as_json()}};
    if (value.has_value() || call.settings.boolean("all")) text += as_text(*metric, value);
  }
  call.terminal.data(
      call.settings.boolean("json") ? json_text({{"records", records.size()}, {"metrics", object}}, 2) + "\n" : text);
  return 0;
}

}  // namespace

extern constinit const Command command_metrics = {
    .head = {.name = "metrics",
             .summary = "measures texts: entropy, repetition, variety, surprise",
             .source = "datasheet 32",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
