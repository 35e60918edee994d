// plm run: writes a continuation of a prompt; text to stdout, all else to stderr.
// Tested by tests/cli/test_plm.py.
#include <algorithm>
#include <random>

#include "base/clock.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"

namespace plm {
namespace {

constexpr Parameter kRunFlags[] = {
    {.name = "prompt", .aliases = "p", .summary = "the text to continue", .type = ParameterType::text, .tag = Tag::pipe},
    {.name = "file", .aliases = "f", .summary = "file that holds the prompt; - is standard input",
     .type = ParameterType::text, .unit = "FILE", .tag = Tag::pipe},
    {.name = "prompt_ids", .summary = "the prompt as token ids: 1,2,3", .type = ParameterType::text, .unit = "IDS",
     .tag = Tag::pipe},
    {.name = "max_tokens", .aliases = "n, predict, n_predict", .summary = "tokens to write at most; -1: until the end",
     .type = ParameterType::integer, .standard = std::int64_t{256}, .min = -1, .max = 1 << 24, .unit = "tokens"},
    {.name = "seed", .aliases = "s", .summary = "equal seeds give equal texts; -1 or not given: by chance",
     .type = ParameterType::integer, .min = -1, .max = 9.2e18},
    {.name = "stop", .aliases = "r, reverse_prompt", .summary = "end before this text appears; may be repeated",
     .type = ParameterType::text},
    {.name = "ignore_eos", .summary = "go on after the model has ended the text", .type = ParameterType::boolean},
    {.name = "parallel", .aliases = "np, n_parallel",
     .summary = "write this many texts at once, with seeds seed, seed + 1, ...", .type = ParameterType::integer,
     .standard = std::int64_t{1}, .min = 1, .max = 256},
    {.name = "no_bos", .summary = "do not put the beginning-of-text token in front", .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "special", .aliases = "sp", .summary = "special tokens spelled in the prompt become those tokens",
     .type = ParameterType::boolean, .tag = Tag::pipe},
    {.name = "json", .summary = "one JSON object a text instead of the text", .type = ParameterType::boolean,
     .tag = Tag::pipe},
};
constexpr auto kParameters = joined(kRunFlags, kEngineFlags, kModelFlag);
constexpr Argument kArguments[] = {kModelArgument};

Result<std::string> prompt_text(Invocation& call) {
  const Settings& settings = call.settings;
  if (settings.was_given("prompt")) return settings.text("prompt");
  if (settings.was_given("file")) return read_text(settings.text("file"));
  if (call.terminal.input_is_terminal()) call.terminal.note("type the prompt, then Ctrl-D");
  return read_text("-");
}

Result<std::vector<TokenId>> prompt_ids(Invocation& call, const Engine& engine) {
  const Settings& settings = call.settings;
  if (settings.was_given("prompt_ids")) return parse_ids(settings.text("prompt_ids"));
  PLM_TRY_ASSIGN(const std::string text, prompt_text(call));
  const EncodeOptions options{.add_special = !settings.boolean("no_bos"), .parse_special = settings.boolean("special")};
  return engine.tokenizer().encode(text, options);
}

// One text as it is being written.
struct Writing {
  std::uint64_t seed = 0;
  std::string text;
  std::vector<TokenId> ids;
  FinishReason reason = FinishReason::interrupted;
  double first_token_ms = -1;  // since the command began
  double last_token_ms = -1;
};

struct Run {
  Invocation& call;
  Stopwatch since_start;
  double load_ms = 0;
  double start_ms = 0;  // when the first pass began
  std::size_t prompt_tokens = 0;
  std::vector<Writing> writings;

  [[nodiscard]] Json timings(const Writing& writing) const {
    const std::size_t count = writing.ids.size();
    const double prefill_ms = std::max(0.0, writing.first_token_ms - start_ms);
    const double decode_ms = std::max(0.0, writing.last_token_ms - writing.first_token_ms);
    const auto per_second = [](std::size_t tokens, double ms) {
      return ms > 0 ? static_cast<double>(tokens) / ms * 1000 : 0.0;
    };
    return {{"load_ms", load_ms},
            {"first_token_ms", writing.first_token_ms},
            {"prompt_tokens", prompt_tokens},
            {"prefill_ms", prefill_ms},
            {"prefill_tokens_per_s", per_second(prompt_tokens, prefill_ms)},
            {"generated_tokens", count},
            {"decode_ms", decode_ms},
            {"decode_tokens_per_s", per_second(count > 1 ? count - 1 : 0, decode_ms)},
            {"peak_memory_bytes", peak_memory_bytes()}};
  }

  // Streams when there is one text; several are printed whole, one after another.
  [[nodiscard]] bool streams() const { return writings.size() == 1 && !call.settings.boolean("json"); }

  void on_event(Writing& writing, const Event& event) {
    if (event.kind == EventKind::committed) {
      writing.last_token_ms = since_start.elapsed_ms();
      if (writing.first_token_ms < 0) writing.first_token_ms = writing.last_token_ms;
      writing.ids.push_back(event.token);
    } else if (event.kind == EventKind::stable_prefix) {
      writing.text += event.text;
      if (streams()) call.terminal.data(event.text);
    } else if (event.kind == EventKind::finished) {
      writing.reason = event.reason;
      if (event.reason == FinishReason::end_of_text && !writing.ids.empty()) writing.ids.pop_back();
    }
  }

  void print() {
    const bool as_json = call.settings.boolean("json");
    for (const Writing& writing : writings) {
      if (as_json) {
        Json object = {{"text", writing.text}, {"ids", writing.ids},
                       {"finish_reason", finish_reason_name(writing.reason)}, {"timings", timings(writing)}};
        if (writings.size() > 1) object["seed"] = writing.seed;
        call.terminal.data(json_text(object) + "\n");
      } else if (!streams()) {
        call.terminal.line(fmt::format("--- seed {}", writing.seed));
        call.terminal.data(writing.text + "\n");
      }
    }
    if (streams()) call.terminal.data("\n");
    for (const Writing& writing : writings) print_statistics(writing);
  }

  void print_statistics(const Writing& writing) {
    const Json t = timings(writing);
    call.terminal.line(fmt::format(
        "[{}, seed {}] load {:.0f} ms, first token after {:.0f} ms, prompt {} tokens at {:.0f}/s, {} written at {:.1f}/s, "
        "peak memory {:.0f} MiB",
        finish_reason_name(writing.reason), writing.seed, t["load_ms"].get<double>(),
        t["first_token_ms"].get<double>(), prompt_tokens, t["prefill_tokens_per_s"].get<double>(), writing.ids.size(),
        t["decode_tokens_per_s"].get<double>(), static_cast<double>(peak_memory_bytes()) / (1 << 20)));
  }
};

std::uint64_t chosen_seed(const Settings& settings) {
  if (settings.has("seed") && settings.integer("seed") >= 0) return static_cast<std::uint64_t>(settings.integer("seed"));
  return std::random_device{}();
}

Result<int> run(Invocation& call) {
  Run run{.call = call};
  const auto count = static_cast<std::size_t>(call.settings.integer("parallel"));
  PLM_TRY_ASSIGN(const std::string path, model_path(call));
  // The prompt's shared part is a sequence of its own while the others fork from it.
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, count + 1));
  run.load_ms = run.since_start.elapsed_ms();

  GenerationRequest request;
  PLM_TRY_ASSIGN(request.prompt, prompt_ids(call, *engine));
  run.prompt_tokens = request.prompt.size();
  const std::int64_t limit = call.settings.integer("max_tokens");
  request.max_tokens = limit < 0 ? engine->context_length() : static_cast<std::size_t>(limit);
  request.sampling = &call.settings;
  request.stops = call.all("stop");
  request.seed = chosen_seed(call.settings);
  request.ignore_end = call.settings.boolean("ignore_eos");

  run.writings.resize(count);
  for (std::size_t i = 0; i < count; ++i) run.writings[i].seed = request.seed + i;
  run.start_ms = run.since_start.elapsed_ms();
  const auto listeners = [&run](std::size_t i) -> Listener {
    return [&run, i](const Event& event) { run.on_event(run.writings[i], event); };
  };
  PLM_TRY_ASSIGN(const auto generations, engine->start_many(request, count, listeners));
  const auto tick = [&] {
    if (run.writings[0].first_token_ms < 0 && run.prompt_tokens > 1) {
      call.terminal.progress("reading the prompt", static_cast<double>(generations[0]->state_length()) /
                                                       static_cast<double>(run.prompt_tokens));
    }
    return was_interrupted();
  };
  const Result<void> outcome = engine->run(tick);
  call.terminal.clear_progress();
  run.print();
  PLM_TRY(outcome);
  for (const auto& generation : generations) {
    if (generation->done()) PLM_TRY(generation->take());
  }
  return was_interrupted() ? static_cast<int>(ErrorKind::interrupted) : 0;
}

}  // namespace

extern constinit const Command command_run = {
    .head = {.name = "run",
             .aliases = "complete, generate",
             .summary = "writes a continuation of a prompt",
             .source = "datasheet, the path of a text",
             .parameters = kParameters},
    .arguments = kArguments,
    .more_parameters = sampling_parameters,
    .run = run,
};

}  // namespace plm
