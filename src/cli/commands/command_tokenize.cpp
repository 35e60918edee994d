// plm tokenize: a text as the model sees it. Tested by tests/cli/test_plm.py.
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_store.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "prompt",
     .aliases = "p",
     .summary = "the text; not given: standard input",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "file",
     .aliases = "f",
     .summary = "file that holds the text; - is standard input",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::pipe},
    {.name = "no_bos",
     .summary = "without the tokens that the model expects around a text",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "special",
     .aliases = "sp",
     .summary = "special tokens spelled in the text become those tokens",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "json", .summary = "one JSON object instead of a table", .type = ParameterType::boolean, .tag = Tag::pipe},
    kModelFlag,
};
constexpr Argument kArguments[] = {kModelArgument};

Result<int> run(Invocation& call) {
  const Settings& settings = call.settings;
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto file, GgufFile::open(path, {.least_tensors = 0}));
  PLM_TRY_ASSIGN(const auto tokenizer, Tokenizer::load(file));
  for (const std::string& sentence : tokenizer->warnings()) call.terminal.warning(sentence);
  std::string text = settings.text("prompt");
  if (!settings.was_given("prompt")) {
    PLM_TRY_ASSIGN(text, read_text(settings.was_given("file") ? settings.text("file") : "-"));
  }
  const EncodeOptions options{.add_special = !settings.boolean("no_bos"), .parse_special = settings.boolean("special")};
  PLM_TRY_ASSIGN(const std::vector<TokenId> ids, tokenizer->encode(text, options));

  Json pieces = Json::array();
  std::string lines;
  for (const TokenId id : ids) {
    const std::string piece = detokenize(tokenizer->vocabulary(), std::span(&id, 1), {.show_special = true});
    lines += fmt::format("{:>7}  \"{}\"\n", id, printable(piece));
    pieces.push_back(piece);
  }
  const Json object = {{"ids", ids}, {"pieces", pieces}};
  call.terminal.data(settings.boolean("json") ? json_text(object) + "\n" : lines);
  if (!settings.boolean("json")) call.terminal.line(fmt::format("{} tokens, {} bytes", ids.size(), text.size()));
  return 0;
}

}  // namespace

extern constinit const Command command_tokenize = {
    .head = {.name = "tokenize",
             .summary = "shows a text as the tokens that the model sees",
             .source = "datasheet, tokeniser",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
