// plm replay: writes a recipe's text again, and says whether text and trace came out the same to the bit.
// Tested by tests/cli/test_sampling.py.
#include "base/json.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "cli/recipe_flags.h"
#include "cli/text_flags.h"
#include "cli/text_record.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "threads",
     .aliases = "t",
     .summary = "not given: one for each physical core; changes no result",
     .type = ParameterType::integer,
     .min = 1,
     .max = ThreadTeam::kMostThreads,
     .tag = Tag::backend},
    {.name = "batch_rows",
     .aliases = "b, batch_size",
     .summary = "tokens computed at once at most; changes no result",
     .type = ParameterType::integer,
     .min = 1,
     .max = 65536,
     .unit = "tokens",
     .tag = Tag::backend},
    {.name = "simd",
     .summary = "instruction set, where it shall be another one than the recipe's",
     .type = ParameterType::text,
     .unit = "NAME",
     .tag = Tag::backend},
    kTraceFlag,
    {.name = "json", .summary = "the verdict as a JSON object", .type = ParameterType::boolean, .tag = Tag::pipe},
    {.name = "quiet",
     .aliases = "q",
     .summary = "nothing on stderr but errors",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {{"RECIPE", "a file that plm run --recipe-out wrote"},
                                   {"MODEL", "not given: where the recipe's model lay", false}};

Result<Invocation> call_for(const Invocation& call, const ReadRecipe& recipe, std::string_view name) {
  PLM_TRY_ASSIGN(Invocation engine, engine_call(recipe, name, call.terminal));
  for (const GivenFlag& flag : call.flags) {
    if (engine.settings.find(flag.name) == nullptr) continue;
    PLM_TRY(engine.settings.set_text(flag.name, flag.text));
    // In place of the recipe's own, which then stands as a difference.
    std::erase_if(engine.flags, [&](const GivenFlag& own) { return own.name == flag.name; });
    engine.flags.push_back(flag);
  }
  return engine;
}

Result<int> tell(Invocation& call, const std::vector<RecipeDifference>& differences) {
  if (call.settings.boolean("json")) {
    Json list = Json::array();
    for (const auto& [field, before, after] : differences) {
      list.push_back({{"field", field}, {"recipe", before}, {"now", after}});
    }
    call.terminal.data(json_text({{"identical", differences.empty()}, {"differences", std::move(list)}}) + "\n");
  } else if (differences.empty()) {
    call.terminal.line("[identical: text, tokens and trace]");
  } else {
    for (const auto& [field, before, after] : differences) {
      call.terminal.data(fmt::format("{}: {} in the recipe, {} now\n", field, before.empty() ? "missing" : before,
                                     after.empty() ? "missing" : after));
    }
  }
  return differences.empty() ? 0 : static_cast<int>(ErrorKind::failed);
}

Result<int> run(Invocation& call) {
  const std::string name = call.argument(0);
  PLM_TRY_ASSIGN(const std::string text, read_text(name));
  PLM_TRY_ASSIGN(const Json json, parse_json(text, name));
  PLM_TRY_ASSIGN(ReadRecipe recipe, read_recipe(json, name));
  PLM_TRY_ASSIGN(Invocation engine_call, call_for(call, recipe, name));
  PLM_TRY_ASSIGN(const std::string path,
                 resolve_model(call.argument(1).empty() ? recipe.model_path : call.argument(1)));
  const std::size_t sequences = recipe.request.negative_prompt.empty() ? 1 : 2;
  PLM_TRY_ASSIGN(const auto engine, load_engine(engine_call, path, sequences));

  std::unique_ptr<TraceFile> trace;
  if (call.settings.was_given("trace")) {
    PLM_TRY_ASSIGN(trace, TraceFile::create(call.settings.text("trace")));
  }
  TextRecord record(engine->vocabulary(), trace.get());
  recipe.request.sampling = &recipe.sampling;
  recipe.request.parallel = &recipe.parallel;
  recipe.request.listener = [&](const Event& event) {
    record.on_event(event);
    if (event.kind == EventKind::stable_prefix && !call.settings.boolean("json")) call.terminal.data(event.text);
  };
  stop_between_batches();
  PLM_TRY_ASSIGN(const auto generation, engine->start(recipe.request));
  const Result<void> outcome = engine->run([&] { return was_interrupted() || call.terminal.failure().has_value(); });
  if (!call.settings.boolean("json")) call.terminal.data("\n");
  PLM_TRY(outcome);
  if (!generation->done()) return static_cast<int>(ErrorKind::interrupted);
  PLM_TRY(generation->take());
  if (trace != nullptr) PLM_TRY(trace->close());
  PLM_TRY_ASSIGN(RecipeFacts facts, recipe_facts(engine_call, *engine));
  facts.model_controls = recipe.model_controls;
  const Json again = make_recipe(*engine, recipe.request, *generation, facts, record.finish());
  // As it would be read, so that numbers are written alike.
  PLM_TRY_ASSIGN(const Json as_read, parse_json(json_text(again), "recipe"));
  return tell(call, recipe_differences(json, as_read));
}

}  // namespace

extern constinit const Command command_replay = {
    .head = {.name = "replay",
             .summary = "writes the text of a recipe again and compares it to the bit",
             .source = "datasheet, reproducibility",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
