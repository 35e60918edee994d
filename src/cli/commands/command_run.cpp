// plm run: writes a continuation of a prompt; text to stdout, all else to stderr.
// Tested by tests/cli/test_plm.py and tests/cli/test_interruptions.py.
#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "prompt",
     .aliases = "p",
     .summary = "the text to go on from",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "file",
     .aliases = "f",
     .summary =
         "file that holds the prompt; - is standard input, as when no prompt is given; a line feed at its end is "
         "dropped",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::pipe},
    {.name = "prompt_ids",
     .summary = "the prompt as token ids: 1,2,3",
     .type = ParameterType::text,
     .unit = "IDS",
     .tag = Tag::pipe},
    {.name = "max_tokens",
     .aliases = "n, predict, n_predict",
     .summary = "tokens to write at most; -1: as many as the context holds",
     .type = ParameterType::integer,
     .standard = std::int64_t{256},
     .min = -1,
     .max = 1 << 24,
     .unit = "tokens"},
    kSeedFlag,
    kStopFlag,
    {.name = "ignore_eos", .summary = "go on after the model has ended the text", .type = ParameterType::boolean},
    {.name = "parallel",
     .aliases = "np, n_parallel",
     .summary = "write this many texts at once, with the seeds that follow",
     .type = ParameterType::integer,
     .standard = std::int64_t{1},
     .min = 1,
     .max = 256},
    {.name = "no_bos",
     .summary = "do not put the beginning-of-text token in front",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "special",
     .aliases = "sp",
     .summary = "special tokens spelled in the prompt become those tokens",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "json",
     .summary = "for each text a JSON object on a line of its own",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument};

/// What is to be continued; exactly one of the two is set.
struct Prompt {
  std::optional<std::string> text;
  std::vector<TokenId> ids;
};

Result<Prompt> read_prompt(const Invocation& call) {
  const Settings& settings = call.settings;
  Prompt prompt;
  if (settings.was_given("prompt") + settings.was_given("file") + settings.was_given("prompt_ids") > 1) {
    return fail(ErrorKind::usage, "more than one prompt; give one of --prompt, --file and --prompt-ids");
  }
  if (settings.was_given("prompt_ids")) {
    PLM_TRY_ASSIGN(prompt.ids, parse_ids(settings.text("prompt_ids")));
  } else if (settings.was_given("prompt")) {
    prompt.text = settings.text("prompt");
  } else {
    const std::string name = settings.was_given("file") ? settings.text("file") : "-";
    if (name == "-" && call.terminal.input_is_terminal()) call.terminal.note("type the prompt, then Ctrl-D");
    PLM_TRY_ASSIGN(prompt.text, read_text(name));
    if (prompt.text->ends_with('\n')) prompt.text->pop_back();
  }
  return prompt;
}

Result<std::vector<TokenId>> encode(const Prompt& prompt, const Settings& settings, const Tokenizer& tokenizer) {
  if (!prompt.text.has_value()) return prompt.ids;
  const EncodeOptions options{.add_special = !settings.boolean("no_bos"), .parse_special = settings.boolean("special")};
  return tokenizer.encode(*prompt.text, options);
}

// One text as it is being written.
struct Writing {
  std::uint64_t seed = 0;
  std::string text;
  std::vector<TokenId> ids;
  FinishReason reason = FinishReason::interrupted;  // until it has finished
  double first_token_ms = 0;                        // since the command began, as the others; 0: none yet
  double last_token_ms = 0;
};

double per_second(std::size_t tokens, double ms) { return ms > 0 ? static_cast<double>(tokens) / ms * 1000 : 0.0; }

class Run {
 public:
  explicit Run(Invocation& call)
      : call_(call),
        as_json_(call.settings.boolean("json")),
        writings_(static_cast<std::size_t>(call.settings.integer("parallel"))) {}

  Result<int> run();

 private:
  // Streams when there is one text; several are printed whole, one after another.
  [[nodiscard]] bool streams() const { return writings_.size() == 1 && !as_json_; }
  void on_event(Writing& writing, const Event& event);
  void show_progress(const Generation& generation);
  void print();
  void print_statistics();
  [[nodiscard]] Json timings(const Writing& writing) const;

  Invocation& call_;
  const bool as_json_;
  Stopwatch since_start_;
  double load_ms_ = 0;
  double start_ms_ = 0;  // when the first pass began
  std::vector<TokenId> prompt_;
  std::vector<Writing> writings_;
};

Result<int> Run::run() {
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call_.argument(0)));
  PLM_TRY_ASSIGN(const Prompt prompt, read_prompt(call_));
  // What the texts have in common is a sequence of its own while they fork from it.
  PLM_TRY_ASSIGN(const auto engine, load_engine(call_, path, writings_.size() + 1));
  load_ms_ = since_start_.elapsed_ms();
  PLM_TRY_ASSIGN(prompt_, encode(prompt, call_.settings, engine->tokenizer()));

  GenerationRequest request{
      .prompt = prompt_,
      .max_tokens = static_cast<std::size_t>(call_.settings.integer("max_tokens")),  // -1 becomes the largest number
      .sampling = &call_.settings,
      .stops = call_.all("stop"),
      .seed = chosen_seed(call_.settings),
      .ignore_end = call_.settings.boolean("ignore_eos"),
  };
  for (std::size_t i = 0; i < writings_.size(); ++i) writings_[i].seed = request.seed + i;
  const auto listeners = [this](std::size_t i) -> Listener {
    return [this, i](const Event& event) { on_event(writings_[i], event); };
  };
  stop_between_batches();
  start_ms_ = since_start_.elapsed_ms();
  PLM_TRY_ASSIGN(const auto generations, engine->start_many(request, writings_.size(), listeners, was_interrupted));
  for (const std::string& sentence : generations.front()->warnings()) call_.terminal.warning(sentence);
  const auto is_over = [&] {
    show_progress(*generations.front());
    return was_interrupted() || call_.terminal.failure().has_value();
  };
  const Result<void> outcome = engine->run(is_over);
  call_.terminal.clear_progress();
  if (streams()) call_.terminal.data("\n");
  PLM_TRY(outcome);
  for (const auto& generation : generations) {
    if (generation->done()) PLM_TRY(generation->take());
  }
  print();
  return was_interrupted() ? static_cast<int>(ErrorKind::interrupted) : 0;
}

void Run::on_event(Writing& writing, const Event& event) {
  if (event.kind == EventKind::committed) {
    writing.last_token_ms = since_start_.elapsed_ms();
    if (writing.ids.empty()) writing.first_token_ms = writing.last_token_ms;
    writing.ids.push_back(event.token);
  } else if (event.kind == EventKind::stable_prefix) {
    writing.text += event.text;
    if (streams()) call_.terminal.data(event.text);
  } else if (event.kind == EventKind::finished) {
    writing.reason = event.reason;
    if (event.reason == FinishReason::end_of_text && !writing.ids.empty()) writing.ids.pop_back();
  }
}

void Run::show_progress(const Generation& generation) {
  if (!writings_.front().ids.empty() || prompt_.size() < 2) return;
  call_.terminal.progress("reading the prompt",
                          static_cast<double>(generation.state_length()) / static_cast<double>(prompt_.size()));
}

Json Run::timings(const Writing& writing) const {
  const std::size_t count = writing.ids.size();
  const double prefill_ms = std::max(0.0, writing.first_token_ms - start_ms_);
  const double decode_ms = writing.last_token_ms - writing.first_token_ms;
  return {{"load_ms", load_ms_},
          {"first_token_ms", writing.first_token_ms},
          {"prompt_tokens", prompt_.size()},
          {"prefill_ms", prefill_ms},
          {"prefill_tokens_per_s", per_second(prompt_.size(), prefill_ms)},
          {"generated_tokens", count},
          {"decode_ms", decode_ms},
          {"decode_tokens_per_s", per_second(std::max<std::size_t>(count, 1) - 1, decode_ms)},
          {"peak_memory_bytes", peak_memory_bytes()}};
}

void Run::print() {
  for (const Writing& writing : writings_) {
    if (as_json_) {
      Json object = {{"text", writing.text},
                     {"ids", writing.ids},
                     {"finish_reason", finish_reason_name(writing.reason)},
                     {"timings", timings(writing)}};
      if (writings_.size() > 1) object["seed"] = writing.seed;
      call_.terminal.data(json_text(object) + "\n");
    } else if (!streams()) {
      call_.terminal.line(fmt::format("--- seed {}", writing.seed));
      call_.terminal.data(writing.text + "\n");
    }
  }
  print_statistics();
}

void Run::print_statistics() {
  for (const Writing& writing : writings_) {
    const Json t = timings(writing);
    call_.terminal.line(fmt::format("[seed {}: {}, {} tokens written at {:.1f}/s]", writing.seed,
                                    finish_reason_name(writing.reason), writing.ids.size(),
                                    t["decode_tokens_per_s"].get<double>()));
  }
  const Json t = timings(writings_.front());
  std::string line = fmt::format("[load {:.0f} ms, ", load_ms_);
  if (!writings_.front().ids.empty()) {
    line += fmt::format("first token {:.0f} ms, prompt {} tokens at {:.0f}/s, ", t["first_token_ms"].get<double>(),
                        prompt_.size(), t["prefill_tokens_per_s"].get<double>());
  }
  const double peak_mib = static_cast<double>(peak_memory_bytes()) / (1 << 20);
  call_.terminal.line(fmt::format("{}peak {:.0f} MiB]", line, peak_mib));
}

Result<int> run(Invocation& call) { return Run(call).run(); }

}  // namespace

extern constinit const Command command_run = {
    .head = {.name = "run",
             .aliases = "complete, generate",
             .summary = "writes a continuation of a prompt",
             .source = "datasheet, the path of a text",
             .parameters = kFlags},
    .arguments = kArguments,
    .samples = true,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
