// plm fetch: brings a model to this machine. Tested by tests/cli/test_fetch.py; the scripts that do it, by
// tests/tools/.
#include <filesystem>

#include "base/utf8.h"
#include "cli/command.h"
#include "cli/model_fetcher.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "name",
     .summary = "what the file behind an address is called here (default: as there)",
     .type = ParameterType::text,
     .unit = "NAME",
     .tag = Tag::pipe},
    {.name = "sha256",
     .summary = "what the file behind an address must be; the hub and the catalogue say it themselves",
     .type = ParameterType::text,
     .unit = "HEX",
     .tag = Tag::pipe},
    {.name = "token_file",
     .summary = "access token of the hub (default: HF_TOKEN_PATH, else ~/.cache/huggingface/token)",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {
    {"MODEL", "a name that plm models lists, owner/repo[:FILE or :QUANTISATION] of the hub, or an http(s) address"},
};

/// Whether a file or folder on this machine is meant. A short name is one, whatever lies in the current folder.
bool is_local(const std::string& model) {
  std::error_code none;
  return (model.find('/') != std::string::npos || model.ends_with(".gguf")) && std::filesystem::exists(model, none);
}

bool begins_as_path(const std::string& model) {
  return model.starts_with("/") || model.starts_with("./") || model.starts_with("../") || model.starts_with("~");
}

Result<int> run(Invocation& call) {
  const std::string model = call.argument(0);
  if (is_local(model)) {
    call.terminal.note(
        fmt::format("{} is on this machine: nothing needs fetching, a file is used in place", printable(model)));
    call.terminal.data(model + "\n");
    return 0;
  }
  if (begins_as_path(model)) {
    return fail(ErrorKind::bad_input, "{}: no such file; to fetch, give a short name, owner/repo or an address",
                printable(model));
  }
  return fetch_model({.model = model,
                      .name = call.settings.text("name"),
                      .sha256 = call.settings.text("sha256"),
                      .token_file = call.settings.text("token_file")});
}

}  // namespace

extern constinit const Command command_fetch = {
    .head = {.name = "fetch",
             .aliases = "pull, download",
             .summary = "brings a model to this machine: by short name, from the model hub, or from an address",
             .source = "docs/decisions/0003-fetching-models.md",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
