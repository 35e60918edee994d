// plm fit: the settings with which a model fits into so much memory, the longest context first.
// Tested by tests/cli/test_plan.py.
#include <array>

#include "base/json.h"
#include "base/system_memory.h"
#include "cli/plan_subject.h"

namespace plm {
namespace {

constexpr Argument kArguments[] = {kPlanArgument};

constexpr Parameter kMemoryFlag = {.name = "memory",
                                   .summary = "what may be taken, as 8G or 512M; not given: what this machine has left",
                                   .type = ParameterType::text,
                                   .unit = "SIZE",
                                   .tag = Tag::backend};
constexpr std::array kFlags = {kMemoryFlag, kPlanFlags[2], kPlanFlags[3], kPlanFlags[5]};

Json as_json(const PlanSubject& subject, const FittingSetting& setting) {
  Json object = {{"kv_dtype", setting.kv_types.name()},
                 {"context", setting.context},
                 {"peak", setting.peak},
                 {"next_thousand_tokens", setting.next_thousand}};
  if (subject.file == nullptr) object["weights"] = setting.weights.name;
  return object;
}

std::string as_text(const PlanSubject& subject, const std::vector<FittingSetting>& settings) {
  std::string text =
      fmt::format("{:>10}{:>12}{:>12}{:>14}{:>20}\n", "context", "weights", "kv-dtype", "peak", "1000 tokens more");
  for (const FittingSetting& setting : settings) {
    text += fmt::format("{:>10}{:>12}{:>12}{:>14}{:>20}\n", setting.context,
                        subject.file != nullptr ? "as they are" : setting.weights.name, setting.kv_types.name(),
                        memory_size(setting.peak), memory_size(setting.next_thousand));
  }
  return text;
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const PlanSubject subject, read_plan_subject(call));
  const RunSizes sizes{.context = 1,
                       .sequences = static_cast<std::uint64_t>(call.settings.integer("parallel")),
                       .batch_rows = static_cast<std::uint64_t>(call.settings.integer("batch_rows")),
                       .head_rows = static_cast<std::uint64_t>(call.settings.integer("parallel"))};
  std::uint64_t memory = available_memory_bytes();
  if (call.settings.has("memory")) {
    PLM_TRY_ASSIGN(memory, parse_memory_size(call.settings.text("memory")));
  }
  if (subject.file == nullptr && !subject.counts.has_value()) {
    return fail(ErrorKind::usage, "{}: its settings do not tell how many weights it has; name a file",
                subject.sketch.name);
  }
  PLM_TRY_ASSIGN(const auto settings, fitting_settings(subject, memory, sizes));
  if (settings.empty()) {
    return fail(ErrorKind::no_room, "{}: nothing fits into {}; use a smaller or more quantised model",
                subject.sketch.name, memory_size(memory));
  }
  if (call.settings.boolean("json")) {
    Json list = Json::array();
    for (const FittingSetting& setting : settings) list.push_back(as_json(subject, setting));
    call.terminal.data(json_text({{"memory", memory}, {"settings", list}}, 2) + "\n");
    return 0;
  }
  call.terminal.data(as_text(subject, settings));
  return 0;
}

}  // namespace

extern constinit const Command command_fit = {
    .head = {.name = "fit",
             .summary = "lists the settings with which a model fits into so much memory",
             .source = "datasheet 44",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
