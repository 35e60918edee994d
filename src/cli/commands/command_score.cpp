// plm score: how probable a text is under the model, token by token. Tested by tests/cli/test_plm.py.
#include <algorithm>

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
    {.name = "text",
     .aliases = "f, file",
     .summary = "another way to write FILE",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::pipe},
    {.name = "window",
     .summary =
         "score the text in pieces of so many tokens, each behind a token that begins a text; not given: at once",
     .type = ParameterType::integer,
     .min = 2,
     .max = 1 << 24,
     .unit = "tokens",
     .tag = Tag::pipe},
    {.name = "tokens",
     .summary = "only so many tokens of the text, its first; not given: all",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1 << 30,
     .unit = "tokens",
     .tag = Tag::pipe},
    {.name = "no_kl",
     .summary =
         "with --kv-dtype: do not compute the text with f32 keys and values as well, to tell what the type loses",
     .type = ParameterType::boolean,
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
  if (position.divergence.has_value()) object["kl"] = *position.divergence;
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
  if (position.divergence.has_value()) line += fmt::format("  kl {:.6f}", *position.divergence);
  for (const TokenLogProbability& token : position.top) {
    line += fmt::format("  {} {:.3f}", piece(token.id), token.log_probability);
  }
  return line + "\n";
}

using Window = std::vector<TokenId>;

/// Pieces of `size` tokens with the token in front that begins a text, where the vocabulary has one.
std::vector<Window> cut(std::span<const TokenId> ids, std::size_t size, std::optional<TokenId> first) {
  const std::size_t step = size - (first.has_value() ? 1 : 0);
  std::vector<Window> windows;
  std::size_t begin = 0;
  do {
    Window& window = windows.emplace_back();
    if (first.has_value()) window.push_back(*first);
    const auto piece = ids.subspan(begin, std::min(step, ids.size() - begin));
    window.insert(window.end(), piece.begin(), piece.end());
    begin += step;
  } while (begin < ids.size());
  return windows;
}

Result<std::vector<Window>> windows_to_score(const Invocation& call, const Tokenizer& tokenizer) {
  const Settings& settings = call.settings;
  const bool is_cut = settings.has("window"), is_bare = settings.boolean("no_bos");
  Window ids;
  if (settings.has("ids")) {
    PLM_TRY_ASSIGN(ids, parse_ids(settings.text("ids")));
  } else {
    const std::string named = call.arguments.size() > 1 ? call.argument(1) : "-";
    PLM_TRY_ASSIGN(const std::string text, read_text(settings.has("text") ? settings.text("text") : named));
    PLM_TRY_ASSIGN(ids, tokenizer.encode(text, {.add_special = !is_bare && !is_cut}));
  }
  if (settings.has("tokens")) ids.resize(std::min(ids.size(), static_cast<std::size_t>(settings.integer("tokens"))));
  if (!is_cut) return std::vector<Window>{std::move(ids)};
  const auto first = is_bare ? std::nullopt : tokenizer.vocabulary().special(SpecialToken::bos);
  return cut(ids, static_cast<std::size_t>(settings.integer("window")), first);
}

Json score_json(const Score& result, Json positions) {
  Json object = {{"perplexity", result.perplexity()},
                 {"scored_tokens", result.tokens},
                 {"logprob_sum", result.log_probability_sum}};
  if (result.compared > 0) {
    object["kl_to_f32_kv"] = {
        {"mean", result.mean_divergence()}, {"positions", result.compared}, {"same_best", result.same_best}};
  }
  object["positions"] = std::move(positions);
  return object;
}

std::string score_text(const Score& result, const KvTypes& types) {
  std::string text = fmt::format("perplexity {:.4f} over {} tokens, log-probability {:.4f}\n", result.perplexity(),
                                 result.tokens, result.log_probability_sum);
  if (result.compared > 0) {
    text += fmt::format(
        "keys and values in {}: KL to f32 {:.7f} nat on average over {} positions, "
        "likeliest token the same at {:.2f} %\n",
        types.name(), result.mean_divergence(), result.compared,
        100.0 * static_cast<double>(result.same_best) / static_cast<double>(result.compared));
  }
  return text;
}

Result<void> check_texts(const Invocation& call) {
  int given = call.arguments.size() > 1 ? 1 : 0;
  for (const char* flag : {"ids", "text"}) given += call.settings.has(flag) ? 1 : 0;
  if (given <= 1) return {};
  return fail(ErrorKind::usage, "two texts to score; give one of FILE, --text and --ids");
}

Result<int> run(Invocation& call) {
  PLM_TRY(check_texts(call));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 1));
  PLM_TRY_ASSIGN(const std::vector<Window> windows, windows_to_score(call, engine->tokenizer()));
  std::unique_ptr<SideMemory> exact;
  if (engine->kv_types() != KvTypes() && !call.settings.boolean("no_kl")) {
    PLM_TRY_ASSIGN(exact, engine->side_memory({}));
  }
  const bool as_json = call.settings.boolean("json");
  Json positions = Json::array();
  std::size_t done = 0, all = 0;
  for (const Window& window : windows) all += window.size();
  const auto on_position = [&](const ScoredPosition& position) {
    call.terminal.progress("scoring", static_cast<double>(++done) / static_cast<double>(all));
    if (as_json) {
      positions.push_back(position_json(position));
    } else {
      call.terminal.data(position_line(engine->vocabulary(), position));
    }
  };
  stop_between_batches();
  const auto is_over = [&] { return was_interrupted() || call.terminal.failure().has_value(); };
  const auto top = static_cast<std::size_t>(call.settings.integer("top"));
  Score result;
  for (const Window& window : windows) {
    const ScoreRequest request{.ids = window, .top = top, .exact = exact.get()};
    PLM_TRY_ASSIGN(const Score one, score(*engine, request, on_position, is_over));
    result += one;
  }
  call.terminal.clear_progress();
  call.terminal.data(as_json ? json_text(score_json(result, std::move(positions))) + "\n"
                             : score_text(result, engine->kv_types()));
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
