// plm tokenize: a text as the model sees it. Tested by tests/cli/test_plm.py.
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_store.h"
#include "cli/text_flags.h"
#include "model/checkpoint.h"

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
    kSpecialFlag,
    {.name = "show",
     .summary = "each token's bytes and kind as well",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "json", .summary = "one JSON object instead of a table", .type = ParameterType::boolean, .tag = Tag::pipe},
    kModelFlag,
};
constexpr Argument kArguments[] = {kModelArgument};

std::string_view kind_name(TokenType type) {
  switch (type) {
    case TokenType::normal: return "text";
    case TokenType::unknown: return "unknown";
    case TokenType::control: return "control";
    case TokenType::user_defined: return "kept whole";
    case TokenType::unused: return "unused";
    case TokenType::byte: return "byte";
  }
  return "";
}

/// One line of the table. A part of a character is shown as the bytes it is.
std::string line_of(const Vocabulary& vocabulary, TokenId id, bool shows_all) {
  std::string bytes;
  vocabulary.append_bytes(id, bytes);
  const std::string piece = printable(bytes.empty() ? vocabulary.text(id) : std::string_view(bytes));
  if (!shows_all) return fmt::format("{:>7}  \"{}\"\n", id, piece);
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x} ", static_cast<unsigned char>(byte));
  if (!hex.empty()) hex.pop_back();
  return fmt::format("{:>7}  {:<10}  {:<24}  \"{}\"\n", id, kind_name(vocabulary.type(id)), hex, piece);
}

Result<int> run(Invocation& call) {
  const Settings& settings = call.settings;
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto file, open_checkpoint(path, CheckpointUse::vocabulary));
  PLM_TRY_ASSIGN(const auto tokenizer, Tokenizer::load(file));
  for (const std::string& sentence : tokenizer->warnings()) call.terminal.warning(sentence);
  std::string text = settings.text("prompt");
  if (!settings.was_given("prompt")) {
    PLM_TRY_ASSIGN(text, read_text(settings.was_given("file") ? settings.text("file") : "-"));
  }
  const EncodeOptions options{.add_special = !settings.boolean("no_bos"), .parse_special = settings.boolean("special")};
  PLM_TRY_ASSIGN(const std::vector<TokenId> ids, tokenizer->encode(text, options));

  Json pieces = Json::array();
  Json kinds = Json::array();
  const bool shows_all = settings.boolean("show");
  std::string lines;
  for (const TokenId id : ids) {
    const std::string piece = detokenize(tokenizer->vocabulary(), std::span(&id, 1), {.show_special = true});
    lines += line_of(tokenizer->vocabulary(), id, shows_all);
    pieces.push_back(piece);
    kinds.push_back(kind_name(tokenizer->vocabulary().type(id)));
  }
  Json object = {{"ids", ids}, {"pieces", pieces}};
  if (shows_all) object["kinds"] = kinds;
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
