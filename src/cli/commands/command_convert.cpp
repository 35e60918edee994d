// plm convert: a Hugging Face folder (or any model) as one GGUF file. Tested by tests/cli/test_convert.py.
#include "cli/command.h"
#include "cli/write_model.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "type",
     .aliases = "outtype",
     .summary = "storage type of the matrices, as for plm quantize; not given: as they are",
     .type = ParameterType::text,
     .unit = "q8_0|q4_k|f16|...",
     .tag = Tag::model},
    kPureFlag,
    kThreadsFlag,
    kQuietFlag,
};
constexpr Argument kArguments[] = {
    {"MODEL", "Hugging Face folder (config.json, safetensors, tokenizer files), or a GGUF file"},
    {"OUT", "the GGUF file to write"},
};

Result<int> run(Invocation& call) {
  const std::string type = call.settings.has("type") ? call.settings.text("type") : "";
  return write_model(call, call.argument(0), call.argument(1), type);
}

}  // namespace

extern constinit const Command command_convert = {
    .head = {.name = "convert",
             .summary = "writes a Hugging Face folder as one GGUF file",
             .source = "GGUF specification",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
