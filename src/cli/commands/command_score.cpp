// plm score: how probable a text is under the model, token by token; of models that fill masks the bound of that, or
// each token given all others; and which of several texts is the likeliest behind a prompt.
// Tested by tests/cli/test_plm.py and tests/cli/test_masked_score.py.
#include <algorithm>

#include "base/json.h"
#include "base/portable_math.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "engine/infill.h"
#include "engine/masked_score.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "ids",
     .summary = "the text as token ids: 1,2,3",
     .type = ParameterType::text,
     .unit = "IDS",
     .tag = Tag::pipe},
    {.name = "prompt",
     .aliases = "p",
     .summary = "stands before the text, and is not scored",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "choice",
     .summary = "in place of a file: a text to be compared with other choices, behind the prompt; may be repeated",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "method",
     .summary = "of models that fill masks: a bound of the text's log-probability by random masks, or the "
                "pseudo-log-likelihood, each token given all others; auto: the probability itself where there is one, "
                "else the bound",
     .type = ParameterType::choice,
     .standard = "auto",
     .choices = "auto, bound, pseudo",
     .tag = Tag::pipe},
    {.name = "draws",
     .summary = "random masks that the bound is estimated from",
     .type = ParameterType::integer,
     .standard = std::int64_t{128},
     .min = 2,
     .max = 1 << 20,
     .tag = Tag::pipe},
    {.name = "seed",
     .aliases = "s",
     .summary = "of the random masks",
     .type = ParameterType::integer,
     .standard = std::int64_t{0},
     .min = 0,
     .max = 9.2e18,
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

std::string score_text(const Score& result, const KvTypes& types, std::string_view measure) {
  std::string text = fmt::format("{} {:.4f} over {} tokens, log-probability {:.4f}\n", measure, result.perplexity(),
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

// A text, behind what is given.
struct Scored {
  std::vector<TokenId> given, text;

  [[nodiscard]] std::vector<TokenId> all() const {
    std::vector<TokenId> ids = given;
    ids.insert(ids.end(), text.begin(), text.end());
    return ids;
  }
};

class Scoring {
 public:
  Scoring(Invocation& call, Engine& engine)
      : call_(call),
        engine_(engine),
        as_json_(call.settings.boolean("json")),
        fills_masks_(engine.diffusion().has_value() && !engine.diffusion()->is_causal_too),
        method_(call.settings.text("method")) {}

  Result<int> run() {
    PLM_TRY(check());
    stop_between_batches();
    if (!call_.all("choice").empty()) return compare_choices();
    PLM_TRY_ASSIGN(Scored task, read_task());
    if (call_.settings.has("tokens")) {
      task.text.resize(std::min(task.text.size(), static_cast<std::size_t>(call_.settings.integer("tokens"))));
    }
    if (method_ == "pseudo") return tell_pseudo(task);
    if (uses_bound()) return tell_bound(task);
    return tell_probability(task);
  }

 private:
  [[nodiscard]] bool uses_bound() const { return method_ == "bound" || (method_ == "auto" && fills_masks_); }
  [[nodiscard]] std::function<bool()> is_over() const {
    return [this] { return was_interrupted() || call_.terminal.failure().has_value(); };
  }
  Result<void> check() const;
  Result<std::vector<TokenId>> encode(const std::string& text, bool begins) const {
    return engine_.tokenizer().encode(text, {.add_special = begins && !call_.settings.boolean("no_bos")});
  }
  Result<std::vector<TokenId>> given() const;
  Result<Scored> read_task() const;
  [[nodiscard]] std::vector<Window> windows(const Scored& task) const;
  Result<BoundEstimate> bound(const Scored& task) const;
  Result<int> tell_probability(const Scored& task);
  Result<int> tell_pseudo(const Scored& task);
  Result<int> tell_bound(const Scored& task);
  Result<int> compare_choices();
  void on_position(const ScoredPosition& position);
  void tell(const Score& result);

  Invocation& call_;
  Engine& engine_;
  const bool as_json_, fills_masks_;
  const std::string method_;
  Json positions_ = Json::array();
};

Result<void> Scoring::check() const {
  const Settings& settings = call_.settings;
  const bool has_choices = !call_.all("choice").empty();
  int texts = (call_.arguments.size() > 1 ? 1 : 0) + (has_choices ? 1 : 0);
  for (const char* flag : {"ids", "text"}) texts += settings.was_given(flag) ? 1 : 0;
  if (texts > 1) return fail(ErrorKind::usage, "two texts to score; give one of FILE, --text, --ids and --choice");
  const bool is_read_in_order = !uses_bound() && method_ != "pseudo" && !has_choices && !settings.was_given("prompt");
  if (settings.has("window") && !is_read_in_order) {
    return fail(ErrorKind::usage, "--window: is for a text by itself that is read one token after another");
  }
  if (method_ != "auto" && !engine_.diffusion().has_value()) {
    return fail(ErrorKind::usage,
                "--method {}: is for models that fill masks; the texts of this one have probabilities", method_);
  }
  if (settings.integer("top") > 0 && (uses_bound() || method_ == "pseudo")) {
    return fail(ErrorKind::usage, "--top: is for texts that are read one token after another");
  }
  return {};
}

// What the model expects in front of a text, and the prompt.
Result<std::vector<TokenId>> Scoring::given() const {
  std::vector<TokenId> ids;
  if (call_.settings.was_given("prompt")) {
    PLM_TRY_ASSIGN(ids, encode(call_.settings.text("prompt"), true));
    if (engine_.vocabulary().adds_eos() && !call_.settings.boolean("no_bos") && !ids.empty()) ids.pop_back();
  }
  return ids;
}

Result<Scored> Scoring::read_task() const {
  Scored task;
  PLM_TRY_ASSIGN(task.given, given());
  if (call_.settings.was_given("ids")) {
    PLM_TRY_ASSIGN(task.text, parse_ids(call_.settings.text("ids")));
    return task;
  }
  const std::string named = call_.arguments.size() > 1 ? call_.argument(1) : "-";
  const bool has_flag = call_.settings.was_given("text");
  PLM_TRY_ASSIGN(const std::string text, read_text(has_flag ? call_.settings.text("text") : named));
  if (task.given.empty()) {
    PLM_TRY_ASSIGN(task.text, encode(text, !call_.settings.has("window")));
    const auto bos = engine_.vocabulary().special(SpecialToken::bos);
    // The token that begins every text has no probability.
    if (fills_masks_ && !task.text.empty() && task.text.front() == bos) {
      task.given.push_back(task.text.front());
      task.text.erase(task.text.begin());
    }
  } else {
    PLM_TRY_ASSIGN(task.text, encode_continuation(engine_.tokenizer(), text, {.add_special = false}));
  }
  return task;
}

void Scoring::on_position(const ScoredPosition& position) {
  if (as_json_) {
    positions_.push_back(position_json(position));
  } else {
    call_.terminal.data(position_line(engine_.vocabulary(), position));
  }
}

std::vector<Window> Scoring::windows(const Scored& task) const {
  if (!call_.settings.has("window")) return {task.all()};
  std::optional<TokenId> first;
  if (!call_.settings.boolean("no_bos")) first = engine_.vocabulary().special(SpecialToken::bos);
  return cut(task.text, static_cast<std::size_t>(call_.settings.integer("window")), first);
}

Result<int> Scoring::tell_probability(const Scored& task) {
  std::unique_ptr<SideMemory> exact;
  if (engine_.kv_types() != KvTypes() && !call_.settings.boolean("no_kl")) {
    PLM_TRY_ASSIGN(exact, engine_.side_memory({}));
  }
  const std::vector<Window> windows = this->windows(task);
  std::size_t done = 0, all = 0;
  for (const Window& window : windows) all += window.size();
  Score result, given;  // what is given is no part of the result
  const auto hear = [&](const ScoredPosition& position) {
    call_.terminal.progress("scoring", static_cast<double>(++done) / static_cast<double>(all));
    if (done <= task.given.size() && position.log_probability.has_value()) {
      given.log_probability_sum += *position.log_probability;
      ++given.tokens;
    }
    on_position(position);
  };
  const auto top = static_cast<std::size_t>(call_.settings.integer("top"));
  for (const Window& window : windows) {
    PLM_TRY_ASSIGN(const Score one, score(engine_, {.ids = window, .top = top, .exact = exact.get()}, hear, is_over()));
    result += one;
  }
  result.log_probability_sum -= given.log_probability_sum;
  result.tokens -= given.tokens;
  call_.terminal.clear_progress();
  tell(result);
  return 0;
}

void Scoring::tell(const Score& result) {
  if (as_json_) return call_.terminal.data(json_text(score_json(result, std::move(positions_))) + "\n");
  const std::string_view measure = method_ == "pseudo" ? "pseudo-perplexity" : "perplexity";
  call_.terminal.data(score_text(result, engine_.kv_types(), measure));
}

Result<int> Scoring::tell_pseudo(const Scored& task) {
  std::size_t done = 0;
  const auto hear = [&](const ScoredPosition& position) {
    call_.terminal.progress("scoring", static_cast<double>(++done) / static_cast<double>(task.text.size()));
    on_position(position);
  };
  PLM_TRY_ASSIGN(const Score result, score_pseudo(engine_, task.given, task.text, hear, is_over()));
  call_.terminal.clear_progress();
  tell(result);
  return 0;
}

Result<BoundEstimate> Scoring::bound(const Scored& task) const {
  const BoundOptions options{.draws = static_cast<std::size_t>(call_.settings.integer("draws")),
                             .seed = static_cast<std::uint64_t>(call_.settings.integer("seed"))};
  const auto show = [this](double part) { call_.terminal.progress("scoring", part); };
  auto estimate = score_bound(engine_, task.given, task.text, options, show, is_over());
  call_.terminal.clear_progress();
  return estimate;
}

double per_token(double log_probability, std::size_t tokens) {
  return tokens == 0 ? 0 : log_probability / static_cast<double>(tokens);
}

Result<int> Scoring::tell_bound(const Scored& task) {
  PLM_TRY_ASSIGN(const BoundEstimate found, bound(task));
  const double perplexity = exp_f64(-per_token(found.log_probability, found.tokens));
  if (as_json_) {
    const Json object = {{"logprob_bound", found.log_probability},
                         {"standard_error", found.standard_error},
                         {"scored_tokens", found.tokens},
                         {"perplexity_bound", perplexity},
                         {"passes", found.passes}};
    call_.terminal.data(json_text(object) + "\n");
  } else {
    call_.terminal.data(fmt::format(
        "log-probability at least {:.4f} (standard error {:.4f}) over {} tokens, perplexity at most {:.4f}; "
        "{} passes\n",
        found.log_probability, found.standard_error, found.tokens, perplexity, found.passes));
  }
  return 0;
}

// Which text is the likeliest behind the prompt, if it is one of these.
Result<int> Scoring::compare_choices() {
  if (!call_.settings.was_given("prompt")) {
    return fail(ErrorKind::usage, "--choice: is compared behind a --prompt, which is missing");
  }
  struct Choice {
    std::string text;
    double log_probability = 0, standard_error = 0;
    std::size_t tokens = 0;
  };
  std::vector<Choice> choices;
  PLM_TRY_ASSIGN(const std::vector<TokenId> prompt, given());
  for (const std::string& text : call_.all("choice")) {
    Scored task{.given = prompt, .text = {}};
    PLM_TRY_ASSIGN(task.text, encode_continuation(engine_.tokenizer(), text, {.add_special = false}));
    if (task.text.empty()) return fail(ErrorKind::usage, "--choice: an empty text has nothing to score");
    Choice choice{.text = text, .tokens = task.text.size()};
    if (method_ == "pseudo") {
      PLM_TRY_ASSIGN(const Score found, score_pseudo(
                                            engine_, task.given, task.text, [](const auto&) {}, is_over()));
      choice.log_probability = found.log_probability_sum;
    } else if (uses_bound()) {
      PLM_TRY_ASSIGN(const BoundEstimate found, bound(task));
      choice.log_probability = found.log_probability;
      choice.standard_error = found.standard_error;
    } else {
      const std::vector<TokenId> ids = task.all();
      std::size_t done = 0;
      const auto hear = [&](const ScoredPosition& position) {
        if (++done > prompt.size()) choice.log_probability += position.log_probability.value_or(0);
      };
      PLM_TRY(score(engine_, {.ids = ids}, hear, is_over()));
    }
    choices.push_back(std::move(choice));
  }
  const double best = std::ranges::max_element(choices, {}, &Choice::log_probability)->log_probability;
  double sum = 0;
  for (const Choice& choice : choices) sum += exp_f64(choice.log_probability - best);
  Json list = Json::array();
  for (const Choice& choice : choices) {
    const double share = exp_f64(choice.log_probability - best) / sum;
    if (as_json_) {
      list.push_back({{"text", choice.text},
                      {"logprob", choice.log_probability},
                      {"standard_error", choice.standard_error},
                      {"tokens", choice.tokens},
                      {"logprob_per_token", per_token(choice.log_probability, choice.tokens)},
                      {"share", share}});
    } else {
      call_.terminal.data(fmt::format(
          "{:>10.4f} +- {:<8.4f}{:>9.4f} a token{:>8.4f} of all  {}\n", choice.log_probability, choice.standard_error,
          per_token(choice.log_probability, choice.tokens), share, printable(choice.text, 60)));
    }
  }
  if (as_json_) call_.terminal.data(json_text({{"choices", std::move(list)}}) + "\n");
  return 0;
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 1));
  return Scoring(call, *engine).run();
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
