// plm plan: what a model will take, from what its files say of themselves; no weight is loaded.
// Tested by tests/cli/test_plan.py.
#include "base/json.h"
#include "cli/plan_subject.h"

namespace plm {
namespace {

constexpr Argument kArguments[] = {kPlanArgument};

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const PlanSubject subject, read_plan_subject(call));
  PLM_TRY_ASSIGN(const RunSizes sizes, run_sizes(call.settings, subject));
  PLM_TRY_ASSIGN(const ModelPlan plan, make_plan(subject, sizes));
  if (call.settings.boolean("json")) {
    call.terminal.data(json_text(plan_json(subject, plan), 2) + "\n");
    return 0;
  }
  for (const std::string& sentence : plan.warnings) call.terminal.warning(sentence);
  call.terminal.data(plan_text(subject, plan));
  return 0;
}

}  // namespace

extern constinit const Command command_plan = {
    .head = {.name = "plan",
             .summary = "tells what a model will take before it is loaded: parameters, memory, context",
             .source = "datasheet 4, 26 and 44",
             .parameters = kPlanFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
