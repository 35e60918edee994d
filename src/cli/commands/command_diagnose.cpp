// plm diagnose: what is wrong with a text that a model wrote, by numbers, what may have caused it, and what to change
// to find out. Tested by tests/cli/test_metrics.py.
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "json", .summary = "one JSON object", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {{"FILE", "a trace, records of runs as JSON, or a text; - is standard input"}};

Json as_json(const Diagnosis& diagnosis) {
  Json evidence = Json::array(), hypotheses = Json::array();
  for (const Evidence& each : diagnosis.finding.evidence) {
    evidence.push_back({{"name", each.name}, {"value", each.value}, {"usual", each.usual}});
  }
  for (const Hypothesis& each : diagnosis.symptom->hypotheses) {
    hypotheses.push_back({{"cause", each.cause}, {"experiment", each.experiment}});
  }
  return {{"symptom", diagnosis.symptom->head.name},
          {"summary", diagnosis.symptom->head.summary},
          {"where", diagnosis.finding.where},
          {"evidence", evidence},
          {"hypotheses", hypotheses}};
}

std::string as_text(const Diagnosis& diagnosis) {
  const Finding& finding = diagnosis.finding;
  std::string text = fmt::format("{}: {}{}{}\n", diagnosis.symptom->head.name, diagnosis.symptom->head.summary,
                                 finding.where.empty() ? "" : "; ", finding.where);
  for (const Evidence& each : finding.evidence) {
    text += fmt::format("  {}: {:.4g}{}\n", printable(each.name, 100), each.value,
                        each.usual.empty() ? "" : ", usually " + each.usual);
  }
  text += "  may come from, the likeliest first; change one thing at a time\n";
  int number = 0;
  for (const Hypothesis& each : diagnosis.symptom->hypotheses) {
    text += fmt::format("  {}. {}\n     try: {}\n", ++number, each.cause, each.experiment);
  }
  return text;
}

std::string nothing_found() {
  std::string text = "nothing found. What each symptom is told by:\n";
  for (const Symptom* symptom : symptoms()) {
    text += fmt::format("  {:<22}{}\n", symptom->head.name, symptom->needs);
  }
  return text;
}

std::string heading(const RunRecord& record, std::size_t index) {
  return fmt::format("{}{}\n", index == 0 ? "" : "\n",
                     record.name.empty() ? fmt::format("record {}", index + 1) : printable(record.name, 60));
}

Result<int> run(Invocation& call) {
  const std::string name = call.argument(0);
  PLM_TRY_ASSIGN(const std::string file, read_text(name));
  PLM_TRY_ASSIGN(const std::vector<RunRecord> records, read_run_records(file, name));
  Json list = Json::array();
  std::string text;
  for (std::size_t i = 0; i < records.size(); ++i) {
    Json found = Json::array();
    if (records.size() > 1) text += heading(records[i], i);
    const std::vector<Diagnosis> diagnoses = diagnose(records[i]);
    for (const Diagnosis& diagnosis : diagnoses) {
      found.push_back(as_json(diagnosis));
      text += as_text(diagnosis);
    }
    if (diagnoses.empty()) text += records.size() > 1 ? "nothing found\n" : nothing_found();
    list.push_back({{"record", records[i].name}, {"symptoms", std::move(found)}});
  }
  call.terminal.data(call.settings.boolean("json") ? json_text({{"records", list}}, 2) + "\n" : text);
  return 0;
}

}  // namespace

extern constinit const Command command_diagnose = {
    .head = {.name = "diagnose",
             .summary = "tells what is wrong with a text that a model wrote, and what may have caused it",
             .source = "datasheet, failure diagnosis",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
