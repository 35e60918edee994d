// plm fetch: brings a model of the catalogue to this machine. Tested by tests/cli/test_plm.py and
// tests/tools/test_fetch_model.py.
#include "cli/command.h"
#include "cli/model_store.h"

namespace plm {
namespace {

constexpr Argument kArguments[] = {{"NAME", "a model of the catalogue; plm models lists them"}};

Result<int> run(Invocation& call) { return fetch_model(call.argument(0)); }

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
