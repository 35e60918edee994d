// plm score: how probable a text is under the model, token by token. Tested by tests/cli/test_plm.py.
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "engine/score.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "ids",
     .summary = "the text as token ids: 1,2,3",
     .type = ParameterType::text,
     .unit = "IDS",
     .tag = Tag::pipe},
    {.name = "top",
     .summary = "show this many of the likeliest tokens after each token",
     .type = ParameterType::integer,
     .standard = std::int64_t{0},
     .min = 0,
     .max = 1000,
     .tag = Tag::pipe},
    {.name = "no_bos",
     .summary = "without the tokens that the model expects around a text",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "json", .summary = "one JSON object instead of a table", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument, {"FILE", "the text; not given or -: standard input", false}};

Json position_json(const ScoredPosition& position) {
  Json top = Json::array();
  for (const TokenLogProbability& token : position.top) {
    top.push_back({{"id", token.id}, {"logprob", token.log_probability}});
  }
  Json object = {{"id", position.id}};
  object["logprob"] = position.log_probability.has_value() ? Json(*position.log_probability) : Json(nullptr);
  object["top"] = std::move(top);
  return object;
}

std::string position_line(const Vocabulary& vocabulary, const ScoredPosition& position) {
  const auto piece = [&](TokenId id) {
    return fmt::format("\"{}\"", printable(detokenize(vocabulary, std::span(&id, 1), {.show_special = true}), 40));
  };
  std::string line =
      fmt::format("{:>7}  {:<24}{}", position.id, piece(position.id),
                  position.log_probability.has_value() ? fmt::format("{:>10.4f}", *position.log_probability)
                                                       : std::string(10, ' '));
  for (const TokenLogProbability& token : position.top) {
    line += fmt::format("  {} {:.3f}", piece(token.id), token.log_probability);
  }
  return line + "\n";
}

Result<std::vector<TokenId>> ids_to_score(const Invocation& call, const Tokenizer& tokenizer) {
  const Settings& settings = call.settings;
  if (settings.was_given("ids")) return parse_ids(settings.text("ids"));
  PLM_TRY_ASSIGN(const std::string text, read_text(call.arguments.size() > 1 ? call.argument(1) : "-"));
  return tokenizer.encode(text, {.add_special = !settings.boolean("no_bos")});
}

Result<int> run(Invocation& call) {
  if (call.settings.was_given("ids") && call.arguments.size() > 1) {
    return fail(ErrorKind::usage, "two texts to score; give FILE or --ids, not both");
  }
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 1));
  PLM_TRY_ASSIGN(const std::vector<TokenId> ids, ids_to_score(call, engine->tokenizer()));
  const bool as_json = call.settings.boolean("json");
  Json positions = Json::array();
  std::size_t done = 0;
  const auto on_position = [&](const ScoredPosition& position) {
    call.terminal.progress("scoring", static_cast<double>(++done) / static_cast<double>(ids.size()));
    if (as_json) {
      positions.push_back(position_json(position));
    } else {
      call.terminal.data(position_line(engine->vocabulary(), position));
    }
  };
  const auto top = static_cast<std::size_t>(call.settings.integer("top"));
  stop_between_batches();
  const auto is_over = [&] { return was_interrupted() || call.terminal.failure().has_value(); };
  PLM_TRY_ASSIGN(const Score result, score(*engine, ids, top, on_position, is_over));
  call.terminal.clear_progress();
  if (as_json) {
    const Json object = {{"perplexity", result.perplexity()},
                         {"scored_tokens", result.tokens},
                         {"logprob_sum", result.log_probability_sum},
                         {"positions", std::move(positions)}};
    call.terminal.data(json_text(object) + "\n");
  } else {
    call.terminal.data(fmt::format("perplexity {:.4f} over {} tokens, log-probability {:.4f}\n", result.perplexity(),
                                   result.tokens, result.log_probability_sum));
  }
  return 0;
}

}  // namespace

extern constinit const Command command_score = {
    .head = {.name = "score",
             .aliases = "perplexity",
             .summary = "tells how probable each token of a text is",
             .source = "datasheet, log-probabilities",
             .parameters = kFlags},
    .arguments = kArguments,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
