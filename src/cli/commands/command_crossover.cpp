// plm crossover: what a pass of 1, 2, 4, ... rows costs here, and from how many tokens a pass on writing by blocks is
// faster than writing one token after another with the same weights. Source: datasheet 44 and 45.
// Tested by tests/cli/test_pages.py.
#include <algorithm>

#include "base/json.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "engine/pass_cost.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "depth",
     .aliases = "d, n_depth",
     .summary = "tokens that are in the context already",
     .type = ParameterType::integer,
     .standard = std::int64_t{128},
     .min = 0,
     .max = 1 << 24,
     .unit = "tokens",
     .tag = Tag::pipe},
    {.name = "most_rows",
     .summary = "longest block to measure; powers of two up to it",
     .type = ParameterType::integer,
     .standard = std::int64_t{256},
     .min = 1,
     .max = 4096,
     .unit = "tokens",
     .tag = Tag::pipe},
    {.name = "sequences",
     .aliases = "npl",
     .summary = "texts written side by side, at most; powers of two up to it",
     .type = ParameterType::integer,
     .standard = std::int64_t{1},
     .min = 1,
     .max = 32,
     .tag = Tag::pipe},
    {.name = "repeats",
     .aliases = "r, repetitions",
     .summary = "how often each is measured; the median counts",
     .type = ParameterType::integer,
     .standard = std::int64_t{5},
     .min = 1,
     .max = 1000,
     .tag = Tag::pipe},
    {.name = "json", .summary = "one JSON object instead of a table", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument};

/// One line: a block of that length in so many texts at once; milliseconds of one pass of all.
struct Line {
  std::size_t sequences;
  std::size_t rows;
  BlockCost cost;
};

Json as_json(const Line& line) {
  const auto even = break_even(line.cost, line.rows), without = break_even({line.cost.write, line.cost.refine, 0}, 1);
  const auto number = [](const std::optional<double>& value) { return value.has_value() ? Json(*value) : Json(); };
  return {{"sequences", line.sequences},
          {"rows", line.rows},
          {"write_ms", line.cost.write},
          {"refine_ms", line.cost.refine},
          {"keep_ms", line.cost.keep},
          {"break_even_tokens_per_pass", number(even)},
          {"break_even_without_keeping", number(without)}};
}

std::string as_text(const Line& line) {
  const auto even = break_even(line.cost, line.rows);
  // More tokens than the block has cannot be decided in a pass.
  const bool is_possible = even.has_value() && *even <= static_cast<double>(line.rows);
  return fmt::format("{:>9}{:>6}{:>11.2f}{:>11.2f}{:>11.2f}{:>12.2f}{:>13}", line.sequences, line.rows, line.cost.write,
                     line.cost.refine, line.cost.keep, line.cost.refine / line.cost.write,
                     is_possible ? fmt::format("{:.2f}", *even) : "never");
}

class Crossover {
 public:
  Crossover(Invocation& call, Engine& engine)
      : call_(call), meter_(engine, integer("depth"), was_interrupted), repeats_(integer("repeats")) {}

  Result<std::vector<Line>> measure() {
    std::vector<Line> lines;
    const std::size_t most_sequences = integer("sequences"), most_rows = integer("most_rows");
    for (std::size_t sequences = 1; sequences <= most_sequences; sequences *= 2) {
      PLM_TRY_ASSIGN(const double write, meter_.median_ms(PassUse::write, 1, sequences, repeats_));
      for (std::size_t rows = 1; rows <= most_rows; rows *= 2) {
        call_.terminal.progress("measuring passes", static_cast<double>(rows) / static_cast<double>(most_rows));
        Line line{sequences, rows, {.write = write, .refine = 0, .keep = 0}};
        PLM_TRY_ASSIGN(line.cost.refine, meter_.median_ms(PassUse::refine, rows, sequences, repeats_));
        PLM_TRY_ASSIGN(line.cost.keep, meter_.median_ms(PassUse::keep, rows, sequences, repeats_));
        lines.push_back(line);
      }
    }
    call_.terminal.clear_progress();
    return lines;
  }

 private:
  [[nodiscard]] std::size_t integer(std::string_view name) const {
    return static_cast<std::size_t>(call_.settings.integer(name));
  }

  Invocation& call_;
  PassMeter meter_;
  std::size_t repeats_;
};

constexpr std::string_view kReading =
    "A pass that writes: one row a text. One that refines: all rows of the block, the likeliest token of each. One "
    "that\n"
    "keeps: the finished block is remembered. Even: tokens that a refining pass must decide on average, so that a "
    "block\n"
    "takes as long as writing its tokens one by one: rows x refine / (rows x write - keep). Without a keeping pass "
    "(the\n"
    "whole page is one block) it is refine / write, the ratio.\n";

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  const auto sequences = static_cast<std::size_t>(call.settings.integer("sequences"));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 2 * sequences));
  const auto rows = static_cast<std::size_t>(call.settings.integer("most_rows"));
  const auto depth = static_cast<std::size_t>(call.settings.integer("depth"));
  if (depth + rows > engine->context_length()) {
    return fail(
        ErrorKind::usage,
        "--depth {} and --most-rows {}: the context holds {} tokens; raise it with --context or lower one of them",
        depth, rows, engine->context_length());
  }
  stop_between_batches();
  PLM_TRY_ASSIGN(const std::vector<Line> lines, Crossover(call, *engine).measure());
  if (call.settings.boolean("json")) {
    Json all = Json::array();
    for (const Line& line : lines) all.push_back(as_json(line));
    call.terminal.data(json_text({{"depth", depth}, {"device", engine->device().describe()}, {"passes", all}}) + "\n");
    return 0;
  }
  call.terminal.data(fmt::format("{:>9}{:>6}{:>11}{:>11}{:>11}{:>12}{:>13}\n", "sequences", "rows", "write ms",
                                 "refine ms", "keep ms", "ratio", "even"));
  for (const Line& line : lines) call.terminal.data(as_text(line) + "\n");
  call.terminal.note(kReading);
  return 0;
}

}  // namespace

extern constinit const Command command_crossover = {
    .head = {.name = "crossover",
             .summary = "measures from how many tokens a pass on writing in parallel is faster",
             .source = "datasheet 44 and 45",
             .parameters = kFlags},
    .arguments = kArguments,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
