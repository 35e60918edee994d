// plm fetch: brings a model of the catalogue to this machine. Tested by tests/cli/test_plm.py and
// tests/tools/test_fetch_model.py.
#include "cli/command.h"
#include "cli/model_store.h"

namespace plm {
namespace {

constexpr Argument kArguments[] = {{"NAME", "name of a model in the catalogue (plm models)", true}};

Result<int> run(Invocation& call) {
  if (call.arguments.empty()) {
    return fail(ErrorKind::usage, "no model named; plm models lists those that can be fetched");
  }
  return fetch_model(call.argument(0));
}

}  // namespace

extern constinit const Command command_fetch = {
    .head = {.name = "fetch",
             .aliases = "pull, download",
             .summary = "brings a model of the catalogue to this machine",
             .source = "models/catalog.json"},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
