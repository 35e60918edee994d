// plm schema: what becomes of a JSON Schema, without a model: which keywords are enforced, which are refused and where,
// what compiling it costs, and a text that fits it. Tested by tests/cli/test_schema.py.
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "constraint/example_text.h"
#include "constraint/json_schema.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    kSeedFlag,
    {.name = "length",
     .summary = "bytes after which the example is ended as soon as it can be",
     .type = ParameterType::integer,
     .standard = std::int64_t{120},
     .min = 0,
     .max = 1 << 20,
     .unit = "bytes"},
    {.name = "json", .summary = "one JSON object", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {{"FILE", "a JSON Schema; - is standard input"}};

Json as_json(const std::vector<SchemaRemark>& remarks) {
  Json list = Json::array();
  for (const SchemaRemark& remark : remarks) {
    Json entry = {{"pointer", remark.pointer}, {"keyword", remark.keyword}};
    if (!remark.text.empty()) entry["reason"] = remark.text;
    list.push_back(std::move(entry));
  }
  return list;
}

std::string as_text(std::string_view title, const std::vector<SchemaRemark>& remarks) {
  std::string text;
  for (const SchemaRemark& remark : remarks) {
    text += fmt::format("{}  {}: {}{}{}\n", title, printable(remark.pointer), printable(remark.keyword),
                        remark.text.empty() ? "" : ": ", remark.text);
  }
  return text;
}

Result<int> run(Invocation& call) {
  const std::string name = call.argument(0);
  PLM_TRY_ASSIGN(const std::string schema, read_text(name));
  JsonSchemaReport report;
  const Stopwatch watch;
  auto compiled = json_schema_grammar(schema, {.lenient = true}, &report);
  const double compile_ms = watch.elapsed_ms();
  if (!compiled.has_value()) return tl::unexpected<Error>(compiled.error().within(name));
  const std::size_t parts = compiled->size();
  Automaton automaton(std::move(*compiled));
  PLM_TRY_ASSIGN(const std::string example, example_text(automaton, chosen_seed(call.settings),
                                                         static_cast<std::size_t>(call.settings.integer("length"))));
  if (call.settings.boolean("json")) {
    call.terminal.data(json_text({{"enforced", as_json(report.enforced)},
                                  {"refused", as_json(report.refused)},
                                  {"warnings", as_json(report.warnings)},
                                  {"compile_ms", compile_ms},
                                  {"rules", report.rules},
                                  {"parts", parts},
                                  {"example", example}}) +
                       "\n");
  } else {
    call.terminal.data(as_text("enforced", report.enforced) + as_text("refused ", report.refused) +
                       as_text("warning ", report.warnings));
    call.terminal.data(fmt::format("example   {}\n", example));
    call.terminal.line(fmt::format("[{} enforced, {} refused; {} rules of {} parts, compiled in {:.1f} ms]",
                                   report.enforced.size(), report.refused.size(), report.rules, parts, compile_ms));
  }
  return report.refused.empty() ? 0 : static_cast<int>(ErrorKind::bad_input);
}

}  // namespace

extern constinit const Command command_schema = {
    .head = {.name = "schema",
             .aliases = "",
             .summary = "what of a JSON Schema is enforced, what is refused and why, and a text that fits it",
             .source = "datasheet, constraints",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
