// plm rerank: sorts documents by how well they answer a query. Tested by tests/cli/test_encoders.py.
#include "base/json.h"
#include "cli/command.h"
#include "cli/model_store.h"
#include "cli/text_inputs.h"
#include "engine/rerank.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "query",
     .summary = "what is asked; required",
     .type = ParameterType::text,
     .unit = "TEXT",
     .tag = Tag::pipe},
    kTextFlag,
    kWholeFlag,
    {.name = "top",
     .aliases = "top_n",
     .summary = "show the best so many; not given: all",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1 << 24,
     .tag = Tag::pipe},
    {.name = "instruction",
     .summary = "what counts as an answer, to models that are told so",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "form",
     .summary = "file with the words around {query}, {document} and {instruction}, to models that are asked",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::pipe},
    {.name = "yes",
     .summary = "the word by which a model without a head for scores says so",
     .type = ParameterType::text,
     .standard = "yes",
     .tag = Tag::pipe},
    {.name = "no",
     .summary = "and the one by which it denies it",
     .type = ParameterType::text,
     .standard = "no",
     .tag = Tag::pipe},
    kMaxTokensFlag,
    kNoTruncateFlag,
    {.name = "json", .summary = "one JSON object instead of a table", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument, kTextFileArgument};

Result<RerankOptions> options_of(const Settings& settings) {
  RerankOptions options;
  if (settings.was_given("instruction")) options.instruction = settings.text("instruction");
  if (settings.was_given("form")) {
    PLM_TRY_ASSIGN(options.form, read_text(settings.text("form")));
  }
  options.yes = settings.text("yes");
  options.no = settings.text("no");
  if (settings.has("max_tokens")) options.most_tokens = static_cast<std::size_t>(settings.integer("max_tokens"));
  options.cuts = !settings.boolean("no_truncate");
  return options;
}

Json ranking_json(const Ranking& ranking, const std::string& document) {
  return {{"index", ranking.document}, {"score", ranking.score},      {"logits", ranking.logits},
          {"tokens", ranking.tokens},  {"truncated", ranking.is_cut}, {"document", document}};
}

Result<int> run(Invocation& call) {
  const Settings& settings = call.settings;
  if (!settings.was_given("query")) return fail(ErrorKind::usage, "query: missing; give --query TEXT");
  PLM_TRY_ASSIGN(const RerankOptions options, options_of(settings));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 64, ModelUse::scoring));
  PLM_TRY_ASSIGN(const std::vector<std::string> documents, read_texts(call));
  if (engine->kind() == ModelKind::writer) {
    call.terminal.note(fmt::format("the model has no head for scores: it is asked, and answers \"{}\" or \"{}\"",
                                   options.yes, options.no));
  }
  const std::string query = settings.text("query");
  const ReadingHooks hooks = reading_hooks(call.terminal, "ranking");
  PLM_TRY_ASSIGN(auto rankings, rerank(*engine, {query, documents}, options, hooks));
  call.terminal.clear_progress();
  std::size_t cut = 0;
  for (const Ranking& ranking : rankings) cut += ranking.is_cut ? 1 : 0;
  if (settings.has("top")) {
    rankings.resize(std::min(rankings.size(), static_cast<std::size_t>(settings.integer("top"))));
  }
  if (settings.boolean("json")) {
    Json results = Json::array();
    for (const Ranking& ranking : rankings) results.push_back(ranking_json(ranking, documents[ranking.document]));
    call.terminal.data(json_text(Json{{"query", query}, {"results", std::move(results)}}) + "\n");
  } else {
    for (const Ranking& ranking : rankings) {
      call.terminal.data(
          fmt::format("{:.6f}\t{}\t{}\n", ranking.score, ranking.document, preview(documents[ranking.document])));
    }
  }
  warn_of_cuts(call.terminal, cut, documents.size());
  return 0;
}

}  // namespace

extern constinit const Command command_rerank = {
    .head = {.name = "rerank",
             .summary = "sorts documents by how well they answer a query",
             .source = "datasheet 55, rerankers",
             .parameters = kFlags},
    .arguments = kArguments,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
