// plm bench: how fast a model reads a prompt (prefill) and writes (decode), in tokens a second of wall time.
//
// What is timed are real passes through the scheduler, head included. Tokens come from Philox, so nothing depends on a
// text; a sequence that writes goes on with the likeliest token. The tokens already in the context (--depth) are
// computed once for each sequence, which then starts every repeat from a fork of that state.
// Source: the measurements and the JSON fields of llama.cpp's llama-bench. Tested by tests/cli/test_bench.py and
// tests/cli/test_interruptions.py.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "base/philox.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "cli/version.h"
#include "model/checkpoint.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "prompt",
     .aliases = "p, n_prompt",
     .summary = "prompt lengths to measure, 128,512; 0: none",
     .type = ParameterType::text,
     .standard = "512",
     .unit = "SIZES",
     .tag = Tag::pipe},
    {.name = "generate",
     .aliases = "n, n_gen",
     .summary = "numbers of tokens to write; 0: none",
     .type = ParameterType::text,
     .standard = "64",
     .unit = "SIZES",
     .tag = Tag::pipe},
    {.name = "depth",
     .aliases = "d, n_depth",
     .summary = "tokens that are in the context already",
     .type = ParameterType::text,
     .standard = "0",
     .unit = "SIZES",
     .tag = Tag::pipe},
    {.name = "sequences",
     .aliases = "npl",
     .summary = "texts written side by side",
     .type = ParameterType::text,
     .standard = "1",
     .unit = "SIZES",
     .tag = Tag::pipe},
    {.name = "repeats",
     .aliases = "r, repetitions",
     .summary = "how often each is measured",
     .type = ParameterType::integer,
     .standard = std::int64_t{5},
     .min = 1,
     .max = 1000,
     .tag = Tag::pipe},
    {.name = "no_warmup",
     .summary = "count the first run, too, which meets cold memory",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "json",
     .summary = "a JSON array with llama-bench's fields instead of a table",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument};

constexpr std::size_t kMostSequences = 256;

/// The numbers of a list like 0,2048.
Result<std::vector<std::size_t>> sizes(const Settings& settings, std::string_view name, std::size_t least,
                                       std::size_t most) {
  std::vector<std::size_t> numbers;
  const std::string text = settings.text(name);
  for (const std::string_view item : split_list(text)) {
    std::size_t number = 0;
    const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), number);
    if (code != std::errc() || end != item.data() + item.size() || number < least || number > most) {
      return fail(ErrorKind::usage, "--{}: found \"{}\", expected whole numbers from {} to {}, as 1,2,3", name,
                  printable(item, 40), least, most);
    }
    numbers.push_back(number);
  }
  if (numbers.empty()) return fail(ErrorKind::usage, "--{}: empty, expected whole numbers, as 1,2,3", name);
  return numbers;
}

/// One thing to measure: reading a prompt, or writing.
struct Case {
  std::size_t prompt = 0;    // tokens of the prompt; 0: it writes
  std::size_t generate = 0;  // tokens of each text
  std::size_t depth = 0;     // tokens of each sequence before it starts
  std::size_t sequences = 1;
  [[nodiscard]] std::size_t tokens() const { return (prompt + generate) * sequences; }
};

/// All combinations that the flags ask for. A prompt is read by one sequence: more of them are only a longer batch.
Result<std::vector<Case>> cases_of(const Settings& settings) {
  constexpr std::size_t kMostTokens = 1U << 24;
  PLM_TRY_ASSIGN(const auto prompts, sizes(settings, "prompt", 0, kMostTokens));
  PLM_TRY_ASSIGN(const auto lengths, sizes(settings, "generate", 0, kMostTokens));
  PLM_TRY_ASSIGN(const auto depths, sizes(settings, "depth", 0, kMostTokens));
  PLM_TRY_ASSIGN(const auto sequences, sizes(settings, "sequences", 1, kMostSequences));
  std::vector<Case> cases;
  for (const std::size_t depth : depths) {
    for (const std::size_t prompt : prompts) {
      if (prompt > 0) cases.push_back({.prompt = prompt, .depth = depth});
    }
    for (const std::size_t generate : lengths) {
      for (const std::size_t count : sequences) {
        if (generate > 0) cases.push_back({.generate = generate, .depth = depth, .sequences = count});
      }
    }
  }
  if (cases.empty()) return fail(ErrorKind::usage, "--prompt and --generate: both 0, nothing is left to measure");
  return cases;
}

Result<void> check_context(std::span<const Case> cases, std::size_t context_length) {
  for (const Case& one : cases) {
    if (one.depth + one.prompt + one.generate <= context_length) continue;
    return fail(ErrorKind::usage,
                "--depth {} and --{} {}: {} tokens, the context holds {}; raise it with --context or lower one of them",
                one.depth, one.prompt > 0 ? "prompt" : "generate", one.prompt + one.generate,
                one.depth + one.prompt + one.generate, context_length);
  }
  return {};
}

/// The repeats of one case and what is said of them.
struct Samples {
  std::vector<std::int64_t> ns;
  std::vector<double> rates;  // tokens a second

  void add(std::size_t tokens, double ms) {
    ns.push_back(static_cast<std::int64_t>(ms * 1e6));
    rates.push_back(static_cast<double>(tokens) / ms * 1e3);
  }
  [[nodiscard]] double median_rate() const {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  [[nodiscard]] double least_rate() const { return *std::min_element(rates.begin(), rates.end()); }
  [[nodiscard]] double greatest_rate() const { return *std::max_element(rates.begin(), rates.end()); }
};

template <typename Number>
double mean(const std::vector<Number>& numbers) {
  double sum = 0;
  for (const Number number : numbers) sum += static_cast<double>(number);
  return sum / static_cast<double>(numbers.size());
}

/// Standard deviation of the sample; 0 for one number.
template <typename Number>
double deviation(const std::vector<Number>& numbers) {
  if (numbers.size() < 2) return 0;
  const double centre = mean(numbers);
  double sum = 0;
  for (const Number number : numbers) {
    const double off = static_cast<double>(number) - centre;
    sum += off * off;
  }
  return std::sqrt(sum / static_cast<double>(numbers.size() - 1));
}

/// A token for this place of this sequence, the same in every run.
TokenId random_token(std::size_t sequence, std::size_t cell, std::size_t vocab_size) {
  const DrawPlace place{.candidate = static_cast<std::uint32_t>(sequence), .cell = static_cast<std::uint32_t>(cell)};
  return static_cast<TokenId>(uniform(place) * static_cast<double>(vocab_size));
}

/// Reads `tokens`, of which only the last one's logits are wanted, then writes `count` more.
Task<Result<void>> read_and_write(Session& session, std::vector<TokenId> tokens, std::size_t count) {
  for (std::size_t step = 0; step < count; ++step) {
    const Yield yield{.row = static_cast<std::uint32_t>(tokens.size() - 1), .kind = YieldKind::statistics};
    const PassRequest request{.tokens = tokens, .yields = std::span(&yield, 1)};
    const Result<PassAnswer> answer = co_await session.pass(request);
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    const RowStatistics& row = answer->statistics.front();
    if (row.bad != 0) co_return fail(ErrorKind::failed, "bench: a logit is NaN or infinite; the model is damaged");
    tokens.assign(1, row.argmax);
  }
  co_return Result<void>{};
}

/// Measures one case after another.
class Bench {
 public:
  explicit Bench(Engine& engine) : engine_(engine) {}

  /// Prepares what the repeats of this case start from.
  Result<void> prepare(const Case& one);
  /// Milliseconds of one repeat.
  Result<double> measure(const Case& one);

 private:
  using Tasks = std::vector<Task<Result<void>>>;
  [[nodiscard]] std::vector<TokenId> tokens(std::size_t sequence, std::size_t first, std::size_t count) const;
  Result<void> finish(Tasks& tasks);

  Engine& engine_;
  std::size_t depth_ = 0;
  std::vector<std::unique_ptr<EngineSession>> prefixes_;  // a sequence each, with depth_ tokens
};

std::vector<TokenId> Bench::tokens(std::size_t sequence, std::size_t first, std::size_t count) const {
  std::vector<TokenId> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = random_token(sequence, first + i, engine_.shape().vocab_size);
  return ids;
}

Result<void> Bench::finish(Tasks& tasks) {
  for (auto& task : tasks) task.start();
  PLM_TRY(engine_.run(was_interrupted));
  for (auto& task : tasks) {
    if (!task.done()) return fail(ErrorKind::interrupted, "bench: interrupted");
    PLM_TRY(task.take());
  }
  return {};
}

Result<void> Bench::prepare(const Case& one) {
  if (one.depth != depth_) prefixes_.clear();
  depth_ = one.depth;
  Tasks tasks;
  while (prefixes_.size() < one.sequences) {
    const std::size_t sequence = prefixes_.size();
    prefixes_.push_back(engine_.open_session());
    if (depth_ > 0) tasks.push_back(read_and_write(*prefixes_.back(), tokens(sequence, 0, depth_), 1));
  }
  return finish(tasks);
}

Result<double> Bench::measure(const Case& one) {
  std::vector<std::unique_ptr<EngineSession>> sessions;
  Tasks tasks;
  for (std::size_t sequence = 0; sequence < one.sequences; ++sequence) {
    sessions.push_back(engine_.open_session());
    sessions.back()->state() = prefixes_[sequence]->state().fork();
    const std::size_t given = std::max<std::size_t>(one.prompt, 1);
    const std::size_t steps = std::max<std::size_t>(one.generate, 1);
    tasks.push_back(read_and_write(*sessions.back(), tokens(sequence, depth_, given), steps));
  }
  const Stopwatch watch;
  PLM_TRY(finish(tasks));
  return watch.elapsed_ms();
}

/// What is said of the model and the machine beside each figure.
struct Setting {
  std::string path;
  std::string model_type;  // "llama 135M Q4_1", the storage type of most weights
  std::uint64_t model_bytes = 0;
  std::uint64_t parameters = 0;
  std::string device;
  std::int64_t threads = 0;
  std::int64_t batch_rows = 0;
  KvTypes kv_types;
};

Result<Setting> setting_of(const Invocation& call, const std::string& path, const Engine& engine) {
  PLM_TRY_ASSIGN(const auto file, open_checkpoint(path));
  Setting setting{.path = path, .device = engine.device().describe()};
  std::map<std::string_view, std::uint64_t> numbers_by_type;
  for (const TensorEntry& tensor : file->tensors()) {
    setting.model_bytes += tensor.byte_count();
    setting.parameters += tensor.element_count();
    numbers_by_type[tensor.type->name] += tensor.element_count();
  }
  const auto most = std::max_element(numbers_by_type.begin(), numbers_by_type.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const double millions = static_cast<double>(setting.parameters) / 1e6;
  setting.model_type = fmt::format(
      "{} {} {}", engine.shape().architecture,
      millions < 1000 ? fmt::format("{:.3g}M", millions) : fmt::format("{:.3g}B", millions / 1000), most->first);
  setting.threads = call.settings.has("threads") ? call.settings.integer("threads") : physical_core_count();
  setting.batch_rows = call.settings.integer("batch_rows");
  setting.kv_types = engine.kv_types();
  return setting;
}

Json as_json(const Setting& setting, const Case& one, const Samples& samples) {
  return {{"build_commit", kVersion},
          {"backends", "CPU"},
          {"device", setting.device},
          {"model_filename", setting.path},
          {"model_type", setting.model_type},
          {"model_size", setting.model_bytes},
          {"model_n_params", setting.parameters},
          {"n_batch", setting.batch_rows},
          {"n_ubatch", setting.batch_rows},
          {"n_threads", setting.threads},
          {"type_k", setting.kv_types.keys->name()},
          {"type_v", setting.kv_types.values->name()},
          {"n_prompt", one.prompt},
          {"n_gen", one.generate},
          {"n_depth", one.depth},
          {"n_sequences", one.sequences},
          {"avg_ns", std::llround(mean(samples.ns))},
          {"stddev_ns", std::llround(deviation(samples.ns))},
          {"avg_ts", mean(samples.rates)},
          {"stddev_ts", deviation(samples.rates)},
          {"median_ts", samples.median_rate()},
          {"min_ts", samples.least_rate()},
          {"max_ts", samples.greatest_rate()},
          {"samples_ns", samples.ns},
          {"samples_ts", samples.rates}};
}

std::string table_head(const Setting& setting) {
  return fmt::format(
      "{}: {}, {:.1f} MiB of weights\n{}, {} threads, keys and values {}\n\n"
      "{:<14}{:>7}{:>11}{:>11}{:>11}{:>11}  tokens/s\n",
      printable(std::filesystem::path(setting.path).filename().string(), 40), printable(setting.model_type, 30),
      static_cast<double>(setting.model_bytes) / (1 << 20), setting.device, setting.threads, setting.kv_types.name(),
      "measured", "depth", "sequences", "median", "min", "max");
}

std::string table_line(const Case& one, const Samples& samples) {
  const std::string what =
      one.prompt > 0 ? fmt::format("prefill {}", one.prompt) : fmt::format("decode {}", one.generate);
  return fmt::format("{:<14}{:>7}{:>11}{:>11.1f}{:>11.1f}{:>11.1f}\n", what, one.depth, one.sequences,
                     samples.median_rate(), samples.least_rate(), samples.greatest_rate());
}

Result<int> run(Invocation& call) {
  const Settings& settings = call.settings;
  PLM_TRY_ASSIGN(const std::vector<Case> cases, cases_of(settings));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  std::size_t sequences = 1;
  for (const Case& one : cases) sequences = std::max(sequences, one.sequences);
  // Each is there twice: as it was prepared, and as it goes on from there.
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 2 * sequences));
  PLM_TRY(check_context(cases, engine->context_length()));
  PLM_TRY_ASSIGN(const Setting setting, setting_of(call, path, *engine));
  const bool as_array = settings.boolean("json");
  const auto repeats = static_cast<std::size_t>(settings.integer("repeats"));
  const std::size_t warm_ups = settings.boolean("no_warmup") ? 0 : 1;
  const double total = static_cast<double>(cases.size() * (repeats + warm_ups));
  std::size_t done = 0;
  stop_between_batches();
  if (!as_array) call.terminal.data(table_head(setting));
  Bench bench(*engine);
  Json array = Json::array();
  for (const Case& one : cases) {
    Samples samples;
    PLM_TRY(bench.prepare(one));
    for (std::size_t i = 0; i < warm_ups + repeats; ++i) {
      call.terminal.progress("measuring", static_cast<double>(done++) / total);
      PLM_TRY_ASSIGN(const double ms, bench.measure(one));
      if (i >= warm_ups) samples.add(one.tokens(), ms);
    }
    call.terminal.clear_progress();
    if (as_array) array.push_back(as_json(setting, one, samples));
    if (!as_array) call.terminal.data(table_line(one, samples));
    if (call.terminal.failure().has_value()) return tl::unexpected<Error>(*call.terminal.failure());
  }
  if (as_array) call.terminal.data(json_text(array, 2) + "\n");
  return 0;
}

}  // namespace

extern constinit const Command command_bench = {
    .head = {.name = "bench",
             .summary = "measures how fast a model reads and writes",
             .source = "llama.cpp, llama-bench",
             .parameters = kFlags},
    .arguments = kArguments,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
