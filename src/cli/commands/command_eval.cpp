// plm eval: how often a model gives the right answer to tasks that can be checked exactly, and how many passes it took.
// Tested by tests/cli/test_eval.py.
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "cli/pass_report.h"
#include "cli/text_flags.h"
#include "engine/evaluation.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "tasks",
     .summary = "a file of prompts and answers, a JSON object a line; may be repeated",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::pipe},
    {.name = "limit",
     .summary = "only so many prompts of each file; not given: all",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1 << 20,
     .tag = Tag::pipe},
    {.name = "parallel",
     .aliases = "np, n_parallel",
     .summary = "texts written at once; changes speed, never a text",
     .type = ParameterType::integer,
     .standard = std::int64_t{16},
     .min = 1,
     .max = 256,
     .tag = Tag::backend},
    kDecoderFlag,
    kSeedFlag,
    {.name = "failures",
     .summary = "shows this many of the wrong texts",
     .type = ParameterType::integer,
     .standard = std::int64_t{0},
     .min = 0,
     .max = 1 << 20,
     .tag = Tag::pipe},
    {.name = "json",
     .summary = "one JSON object instead of a table, with every text",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument};

Result<std::vector<EvalItem>> read_items(const Invocation& call) {
  const std::vector<std::string> names = call.all("tasks");
  if (names.empty()) return fail(ErrorKind::usage, "--tasks: missing; give a file such as models/tasks/add.jsonl");
  std::vector<EvalItem> all;
  for (const std::string& name : names) {
    PLM_TRY_ASSIGN(const std::string text, read_text(name));
    PLM_TRY_ASSIGN(std::vector<EvalItem> items, parse_eval_items(text, printable(name)));
    if (call.settings.has("limit")) {
      items.resize(std::min(items.size(), static_cast<std::size_t>(call.settings.integer("limit"))));
    }
    std::ranges::move(items, std::back_inserter(all));
  }
  return all;
}

struct Outcome {
  std::vector<EvalText> texts;
  std::vector<EvalTally> tasks;
  double ms = 0;

  [[nodiscard]] PassTally cost() const {
    PassTally sum;
    for (const EvalText& text : texts) sum.add(text.cost);
    return sum;
  }
  [[nodiscard]] std::size_t useful_tokens() const {
    std::size_t sum = 0;
    for (const EvalText& text : texts) sum += text.useful_tokens;
    return sum;
  }
  [[nodiscard]] double mean_accuracy() const {
    double sum = 0;
    for (const EvalTally& task : tasks) sum += task.accuracy();
    return sum / static_cast<double>(tasks.size());
  }
  [[nodiscard]] double tokens_per_second() const {
    double tokens = 0;
    for (const EvalTally& task : tasks) tokens += static_cast<double>(task.useful_tokens);
    return tokens / ms * 1000;
  }
};

Json as_json(const Outcome& outcome) {
  Json tasks = Json::array(), texts = Json::array();
  for (const EvalTally& task : outcome.tasks) {
    const Interval interval = wilson_interval(task.right, task.texts);
    tasks.push_back({{"task", task.task},
                     {"texts", task.texts},
                     {"right", task.right},
                     {"accuracy", task.accuracy()},
                     {"interval", {interval.low, interval.high}},
                     {"passes", task.passes},
                     {"useful_tokens", task.useful_tokens},
                     {"tokens_per_pass", task.tokens_per_pass()}});
  }
  for (const EvalText& text : outcome.texts) {
    texts.push_back({{"task", text.item->task},
                     {"prompt", text.item->prompt},
                     {"text", text.text},
                     {"right", text.is_right},
                     {"passes", text.passes}});
  }
  return {{"tasks", std::move(tasks)},
          {"mean_accuracy", outcome.mean_accuracy()},
          {"tokens_per_pass", harmonic_tokens_per_pass(outcome.tasks)},
          {"tokens_per_s", outcome.tokens_per_second()},
          {"passes", pass_json(outcome.cost(), outcome.useful_tokens())},
          {"texts", std::move(texts)}};
}

std::string as_table(const Outcome& outcome) {
  std::string table =
      fmt::format("{:<12}{:>7}{:>11}  {:<16}{:>13}\n", "task", "texts", "accuracy", "95 % interval", "tokens/pass");
  for (const EvalTally& task : outcome.tasks) {
    const Interval interval = wilson_interval(task.right, task.texts);
    table += fmt::format("{:<12}{:>7}{:>11.3f}  {:.3f} to {:.3f}  {:>13.2f}\n", printable(task.task, 12), task.texts,
                         task.accuracy(), interval.low, interval.high, task.tokens_per_pass());
  }
  if (outcome.tasks.size() < 2) return table;
  return table + fmt::format("{:<12}{:>7}{:>11.3f}  {:<16}{:>13.2f}\n", "mean", outcome.texts.size(),
                             outcome.mean_accuracy(), "", harmonic_tokens_per_pass(outcome.tasks));
}

void show_failures(Terminal& terminal, const Outcome& outcome, std::size_t most) {
  for (const EvalText& text : outcome.texts) {
    if (text.is_right || most == 0) continue;
    --most;
    const std::string wanted = text.item->matches.has_value() ? "another form" : printable(text.item->answer);
    terminal.data(fmt::format("{}: {} -> {}; expected {}\n", printable(text.item->task, 12),
                              printable(text.item->prompt), printable(text.text), wanted));
  }
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const std::vector<EvalItem> items, read_items(call));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  const auto parallel = static_cast<std::size_t>(call.settings.integer("parallel"));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, parallel));
  Settings settings = call.settings;
  if (!settings.was_given("temperature")) PLM_TRY(settings.set_text("temperature", "0"));
  GenerationRequest base{.sampling = &settings, .seed = chosen_seed(settings), .parallel = &settings};
  if (settings.has("decoder")) base.decoder = settings.text("decoder");
  stop_between_batches();
  const Stopwatch watch;
  Outcome outcome;
  const EvalHooks hooks{.interrupted = was_interrupted,
                        .on_progress = [&](double done) { call.terminal.progress("writing", done); }};
  PLM_TRY_ASSIGN(outcome.texts, evaluate(*engine, items, base, hooks));
  outcome.ms = watch.elapsed_ms();
  outcome.tasks = tallies(outcome.texts);
  call.terminal.clear_progress();
  if (settings.boolean("json")) {
    call.terminal.data(json_text(as_json(outcome)) + "\n");
    return 0;
  }
  call.terminal.data(as_table(outcome));
  show_failures(call.terminal, outcome, static_cast<std::size_t>(settings.integer("failures")));
  call.terminal.line(fmt::format("[{} texts, {} at once, {:.0f} tokens/s; mean of tokens per pass: harmonic]",
                                 outcome.texts.size(), parallel, outcome.tokens_per_second()));
  call.terminal.line(pass_report(outcome.cost(), outcome.useful_tokens()));
  return 0;
}

}  // namespace

extern constinit const Command command_eval = {
    .head = {.name = "eval",
             .aliases = "evaluate",
             .summary = "counts right answers to tasks that can be checked exactly, and passes",
             .source = "datasheet 32, the protocol; 44, tokens per pass",
             .parameters = kFlags},
    .arguments = kArguments,
    .samples = true,
    .fills_pages = true,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
