// plm run: writes a continuation of a prompt; text to stdout, all else to stderr.
// Tested by tests/cli/test_plm.py and tests/cli/test_interruptions.py.
#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/constraint_flags.h"
#include "cli/engine_flags.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "cli/page_animation.h"
#include "cli/pass_report.h"
#include "cli/recipe_flags.h"
#include "cli/text_flags.h"
#include "cli/text_record.h"
#include "cli/thinking_flags.h"
#include "cli/trajectory_file.h"

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
    kDecoderFlag,
    kNoBosFlag,
    kSpecialFlag,
    {.name = "json",
     .summary = "for each text a JSON object on a line of its own",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    kBanPhraseFlag,
    kGrammarFlag,
    kJsonSchemaFlag,
    kRegexFlag,
    kChoiceFlag,
    kLenientFlag,
    kNoCloseFlag,
    kConstraintModeFlag,
    kNegativePromptFlag,
    kGuidanceScaleFlag,
    kLogprobsFlag,
    kLogprobsOfFlag,
    kEchoFlag,
    kThinkFlag,
    kThinkScopeFlag,
    kThinkGraceFlag,
    kThinkSoftFlag,
    kThinkMessageFlag,
    kThinkTagsFlag,
    kNoModelDefaultsFlag,
    kTraceFlag,
    kTraceTopFlag,
    kRecipeOutFlag,
    kTrajectoryFlag,
    kNoAnimationFlag,
    kFrameMsFlag,
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

Result<std::vector<TokenId>> encode(const Prompt& prompt, const Settings& settings, const Engine& engine) {
  if (!prompt.text.has_value()) return prompt.ids;
  const EncodeOptions options{.add_special = !settings.boolean("no_bos"), .parse_special = settings.boolean("special")};
  PLM_TRY_ASSIGN(std::vector<TokenId> tokens, engine.tokenizer().encode(*prompt.text, options));
  // What an encoder expects behind a text would end it before the page.
  const std::vector<TokenId>& after = engine.tokenizer().surroundings().after;
  const bool is_ended = options.add_special && engine.diffusion().has_value() && tokens.size() >= after.size();
  if (is_ended) tokens.resize(tokens.size() - after.size());
  return tokens;
}

// One text as it is being written.
struct Writing {
  std::uint64_t seed = 0;
  std::unique_ptr<TextRecord> record;
  PassTally cost;
  double first_token_ms = 0;  // since the command began, as the others; 0: none yet
  double last_token_ms = 0;
  std::size_t thinking_tokens = 0, forced_ends = 0;  // under a budget for thinking
  Json logprobs = Json::array();                     // of the tokens written
  Json prompt_logprobs = Json::array();              // of the prompt's
};

// A combination of flags that has no meaning.
Result<void> check_flags(const Settings& settings) {
  const bool has_one_text = settings.integer("parallel") == 1;
  for (const char* name : {"trace", "recipe_out", "trajectory"}) {
    if (settings.was_given(name) && !has_one_text) {
      return fail(ErrorKind::usage, "{}: is about one text; leave --parallel out", flag_name(name));
    }
  }
  if (settings.was_given("logprobs") && !settings.boolean("json")) {
    return fail(ErrorKind::usage, "--logprobs: are fields of a JSON object; add --json");
  }
  for (const char* name : {"logprobs_of", "echo"}) {
    if (settings.was_given(name) && !settings.was_given("logprobs")) {
      return fail(ErrorKind::usage, "{}: says how --logprobs are given, which is missing", flag_name(name));
    }
  }
  const bool is_guided = settings.was_given("negative_prompt") && !settings.text("negative_prompt").empty();
  if (settings.real("guidance_scale") != 1 && !is_guided) {
    return fail(ErrorKind::usage, "--guidance-scale: moves away from a --negative-prompt, which is missing");
  }
  return {};
}

// What is not there for pages.
Result<void> check_page(const Settings& settings) {
  for (const char* name : {"trace", "logprobs", "ban_phrase", "negative_prompt"}) {
    if (!settings.was_given(name)) continue;
    return fail(ErrorKind::usage, "{}: is for texts that are written one token after another; this model fills a page",
                flag_name(name));
  }
  return {};
}

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
  Result<void> open_files(const Engine& engine, const GenerationRequest& request);
  Result<GenerationRequest> request(const Engine& engine) const;
  Result<void> record(const Engine& engine, const GenerationRequest& request, const Generation& generation);
  void on_event(Writing& writing, const Event& event);
  [[nodiscard]] Json logprob_json(const Event& event) const;
  void show_progress(const Generation& generation);
  [[nodiscard]] bool shows_frames() const { return animation_ != nullptr; }
  void print();
  void print_statistics();
  [[nodiscard]] Json timings(const Writing& writing) const;

  Invocation& call_;
  const bool as_json_;
  Stopwatch since_start_;
  double load_ms_ = 0;
  double start_ms_ = 0;  // when the first pass began
  std::vector<TokenId> prompt_;
  std::string prompt_text_;  // empty: it was given as ids
  std::vector<Writing> writings_;
  std::vector<std::string> warnings_;
  Json model_defaults_ = Json::object();  // sampling controls that the model's file brought
  const Vocabulary* vocabulary_ = nullptr;
  bool fills_page_ = false;
  std::unique_ptr<TraceFile> trace_;
  std::unique_ptr<TrajectoryFile> trajectory_;
  std::unique_ptr<PageAnimation> animation_;  // null: text appears when it can no longer change
};

Result<GenerationRequest> Run::request(const Engine& engine) const {
  const Settings& settings = call_.settings;
  GenerationRequest request{
      .prompt = prompt_,
      .max_tokens = static_cast<std::size_t>(settings.integer("max_tokens")),  // -1 becomes the largest number
      .sampling = &settings,
      .stops = call_.all("stop"),
      .seed = chosen_seed(settings),
      .ignore_end = settings.boolean("ignore_eos"),
      .banned_phrases = call_.all("ban_phrase"),
      .guidance_scale = settings.real("guidance_scale"),
  };
  PLM_TRY_ASSIGN(request.constraint, chosen_constraint(call_));
  if (settings.has("decoder")) request.decoder = settings.text("decoder");
  PLM_TRY_ASSIGN(const DecoderDefinition* decoder, engine.choose_decoder(request.decoder));
  request.decoder = decoder->head.name;
  if (decoder->fills_masks) {
    PLM_TRY(check_page(settings));
    request.parallel = &settings;
    // A page is as long as what was asked for; where nothing was, as the context has room.
    const std::size_t room = engine.context_length() - std::min(engine.context_length(), prompt_.size());
    PLM_TRY_ASSIGN(const std::optional<std::size_t> length, page_length(settings));
    if (length.has_value()) request.max_tokens = *length;
    if (!settings.was_given("max_tokens") && !length.has_value()) {
      request.max_tokens = std::min(request.max_tokens, room);
    }
    if (settings.integer("max_tokens") < 0 && !length.has_value()) request.max_tokens = room;
  }
  if (request.guidance_scale != 1) {
    const Prompt negative{.text = settings.text("negative_prompt"), .ids = {}};
    PLM_TRY_ASSIGN(request.negative_prompt, encode(negative, settings, engine));
  }
  if (!decoder->fills_masks && (settings.was_given("trace") || settings.was_given("recipe_out"))) {
    request.trace_top = static_cast<std::size_t>(settings.integer("trace_top"));
  }
  const auto tags = settings.has("think") ? thinking_tags(engine.vocabulary()) : std::nullopt;
  PLM_TRY_ASSIGN(request.thinking, chosen_thinking(settings, tags, prompt_text_));
  if (settings.was_given("logprobs")) {
    const std::string of = settings.text("logprobs_of");
    request.log_probabilities = LogProbabilityWish{.of = of == "chain"    ? LogProbabilityWish::Of::chain
                                                         : of == "masked" ? LogProbabilityWish::Of::masked
                                                                          : LogProbabilityWish::Of::model,
                                                   .top = static_cast<std::size_t>(settings.integer("logprobs")),
                                                   .prompt = settings.boolean("echo")};
  }
  return request;
}

Result<int> Run::run() {
  PLM_TRY(check_flags(call_.settings));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call_.argument(0)));
  PLM_TRY_ASSIGN(const Prompt prompt, read_prompt(call_));
  // What the texts have in common is a sequence of its own while they fork from it; a guided text takes two.
  const std::size_t sequences = call_.settings.real("guidance_scale") != 1 ? 2 * writings_.size() : writings_.size();
  PLM_TRY_ASSIGN(const auto engine, load_engine(call_, path, sequences + 1));
  vocabulary_ = &engine->vocabulary();
  load_ms_ = since_start_.elapsed_ms();
  model_defaults_ = use_model_defaults(call_, *engine);
  PLM_TRY_ASSIGN(prompt_, encode(prompt, call_.settings, *engine));
  prompt_text_ = prompt.text.value_or("");
  PLM_TRY_ASSIGN(const GenerationRequest request, this->request(*engine));
  fills_page_ = request.parallel != nullptr;
  PLM_TRY(open_files(*engine, request));
  for (std::size_t i = 0; i < writings_.size(); ++i) {
    writings_[i].seed = request.seed + i;
    writings_[i].record = std::make_unique<TextRecord>(*vocabulary_, trace_.get());
  }
  const auto listeners = [this](std::size_t i) -> Listener {
    return [this, i](const Event& event) { on_event(writings_[i], event); };
  };
  stop_between_batches();
  start_ms_ = since_start_.elapsed_ms();
  PLM_TRY_ASSIGN(const auto generations, engine->start_many(request, writings_.size(), listeners, was_interrupted));
  if (trajectory_ != nullptr) {
    PLM_TRY_ASSIGN(const RecipeFacts facts, recipe_facts(call_, *engine));
    trajectory_->begin(make_recipe(*engine, request, *generations.front(), facts, {}), request);
  }
  const auto warnings = generations.front()->warnings();
  warnings_.assign(warnings.begin(), warnings.end());
  for (const std::string& sentence : warnings_) call_.terminal.warning(sentence);
  const auto is_over = [&] {
    show_progress(*generations.front());
    return was_interrupted() || call_.terminal.failure().has_value();
  };
  Result<void> outcome = engine->run(is_over);
  call_.terminal.clear_progress();
  if (shows_frames()) {
    animation_->finish();
    call_.terminal.data(writings_.front().record->text());
  }
  for (std::size_t i = 0; i < generations.size(); ++i) {
    if (!outcome.has_value() || !generations[i]->done()) continue;
    const Result<DecodeOutcome> written = generations[i]->take();
    if (!written.has_value()) {
      outcome = tl::unexpected<Error>(written.error());
    } else {
      writings_[i].thinking_tokens = written->thinking_tokens;
      writings_[i].forced_ends = written->forced_ends;
    }
  }
  // A text that failed before it began leaves no line.
  if (streams() && (outcome.has_value() || !writings_.front().record->text().empty())) call_.terminal.data("\n");
  PLM_TRY(outcome);
  print();
  PLM_TRY(record(*engine, request, *generations.front()));
  return was_interrupted() ? static_cast<int>(ErrorKind::interrupted) : 0;
}

// Files and the screen, before the first event.
Result<void> Run::open_files(const Engine& engine, const GenerationRequest& request) {
  const Settings& settings = call_.settings;
  if (settings.was_given("trace")) {
    PLM_TRY_ASSIGN(trace_, TraceFile::create(settings.text("trace")));
  }
  if (settings.was_given("trajectory")) {
    PLM_TRY_ASSIGN(trajectory_, TrajectoryFile::create(settings.text("trajectory"), engine.vocabulary(), request));
  }
  if (request.parallel != nullptr && streams()) {
    animation_ = PageAnimation::create(call_, engine.vocabulary(), request.prompt, prompt_.size());
  }
  return {};
}

// The files that were asked for besides.
Result<void> Run::record(const Engine& engine, const GenerationRequest& request, const Generation& generation) {
  const RecipeResult result = writings_.front().record->finish();
  if (trace_ != nullptr) PLM_TRY(trace_->close());
  if (trajectory_ != nullptr) {
    if (!was_interrupted()) trajectory_->end(result);
    PLM_TRY(trajectory_->close());
  }
  if (!call_.settings.was_given("recipe_out")) return {};
  PLM_TRY_ASSIGN(RecipeFacts facts, recipe_facts(call_, engine));
  for (const auto& [name, value] : model_defaults_.items()) facts.model_controls.push_back(name);
  const Json recipe = make_recipe(engine, request, generation, facts, result);
  return write_text(call_.settings.text("recipe_out"), json_text(recipe, 1) + "\n");
}

void Run::on_event(Writing& writing, const Event& event) {
  writing.record->on_event(event);
  writing.cost.on_event(event);
  if (trajectory_ != nullptr) trajectory_->on_event(event);
  if (shows_frames()) animation_->on_event(event);
  if (event.kind == EventKind::committed) {
    writing.last_token_ms = since_start_.elapsed_ms();
    if (writing.first_token_ms == 0) writing.first_token_ms = writing.last_token_ms;
    if (call_.settings.was_given("logprobs")) writing.logprobs.push_back(logprob_json(event));
  } else if (event.kind == EventKind::scored) {
    writing.prompt_logprobs.push_back(logprob_json(event));
  } else if (event.kind == EventKind::deleted) {
    if (!writing.logprobs.empty()) writing.logprobs.erase(writing.logprobs.size() - 1);
  } else if (event.kind == EventKind::stable_prefix) {
    if (streams() && !shows_frames()) call_.terminal.data(event.text);
  }
}

Json Run::logprob_json(const Event& event) const {
  const auto entry = [&](TokenId id, double log_probability) {
    return Json{{"id", id},
                {"text", detokenize(*vocabulary_, std::span(&id, 1), {.show_special = true})},
                {"logprob", log_probability}};  // null for what the chain removed
  };
  Json json = entry(event.token, event.log_probability);
  json["top"] = Json::array();
  for (const TokenLogProbability& likely : event.top) json["top"].push_back(entry(likely.id, likely.log_probability));
  return json;
}

void Run::show_progress(const Generation& generation) {
  if (shows_frames()) return animation_->draw();
  if (!writings_.front().record->ids().empty() || prompt_.size() < 2) return;
  call_.terminal.progress("reading the prompt",
                          static_cast<double>(generation.state_length()) / static_cast<double>(prompt_.size()));
}

Json Run::timings(const Writing& writing) const {
  const std::size_t count = writing.record->ids().size();
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
      const TextRecord& record = *writing.record;
      Json object = {{"text", record.text()},
                     {"ids", record.ids()},
                     {"finish_reason", finish_reason_name(record.reason())},
                     {"timings", timings(writing)},
                     {"passes", pass_json(writing.cost, record.ids().size())}};
      if (writings_.size() > 1) object["seed"] = writing.seed;
      if (!model_defaults_.empty()) object["model_defaults"] = model_defaults_;
      if (call_.settings.has("think")) {
        object["thinking"] = {{"tokens", writing.thinking_tokens}, {"forced_ends", writing.forced_ends}};
      }
      if (call_.settings.was_given("logprobs")) object["logprobs"] = writing.logprobs;
      if (call_.settings.boolean("echo")) object["prompt_logprobs"] = writing.prompt_logprobs;
      if (!warnings_.empty()) object["warnings"] = warnings_;
      call_.terminal.data(json_text(object) + "\n");
    } else if (!streams()) {
      call_.terminal.line(fmt::format("--- seed {}", writing.seed));
      call_.terminal.data(writing.record->text() + "\n");
    }
  }
  print_statistics();
}

void Run::print_statistics() {
  for (const Writing& writing : writings_) {
    const Json t = timings(writing);
    call_.terminal.line(fmt::format("[seed {}: {}, {} tokens written at {:.1f}/s]", writing.seed,
                                    finish_reason_name(writing.record->reason()), writing.record->ids().size(),
                                    t["decode_tokens_per_s"].get<double>()));
    if (fills_page_) call_.terminal.line(pass_report(writing.cost, writing.record->ids().size()));
  }
  if (call_.settings.has("think")) {
    for (const Writing& writing : writings_) {
      call_.terminal.line(fmt::format("[{} tokens of thinking{}]", writing.thinking_tokens,
                                      writing.forced_ends > 0 ? ", closed by the budget" : ""));
    }
  }
  if (!model_defaults_.empty()) {
    call_.terminal.line(fmt::format("[sampling of the model's file: {}]", json_text(model_defaults_)));
  }
  const Json t = timings(writings_.front());
  std::string line = fmt::format("[load {:.0f} ms, ", load_ms_);
  if (!writings_.front().record->ids().empty()) {
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
    .fills_pages = true,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
