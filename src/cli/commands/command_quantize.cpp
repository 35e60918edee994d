// plm quantize: a model in another storage type. Tested by tests/cli/test_convert.py.
#include "cli/command.h"
#include "cli/write_model.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "type",
     .summary = "f32, f16, bf16, q8_0, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1, q4_0, iq4_nl, iq4_xs, mxfp4, q3_k or q2_k; "
                "those with k and iq4 are mixtures that give more bits to the matrices that need them",
     .type = ParameterType::text,
     .unit = "TYPE",
     .tag = Tag::model},
    kPureFlag,
    kThreadsFlag,
    kQuietFlag,
};
constexpr Argument kArguments[] = {
    {"MODEL", "GGUF file or Hugging Face folder; best the original, since every rounding adds to those before"},
    {"OUT", "the GGUF file to write, another than MODEL"},
};

Result<int> run(Invocation& call) {
  if (!call.settings.has("type")) {
    return fail(ErrorKind::usage, "no storage type given; say for instance --type q4_k");
  }
  return write_model(call, call.argument(0), call.argument(1), call.settings.text("type"));
}

}  // namespace

extern constinit const Command command_quantize = {
    .head = {.name = "quantize",
             .summary = "writes a model in another storage type",
             .source = "datasheet, quantisation",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
