// plm replay: writes the text of a recipe or a trajectory again, and says whether it came out the same to the bit: text
// and trace, or everything that the passes proposed and decided.
// Tested by tests/cli/test_sampling.py and tests/cli/test_trajectory.py.
#include "base/json.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "cli/recipe_flags.h"
#include "cli/text_flags.h"
#include "cli/text_record.h"
#include "cli/trajectory_file.h"

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
constexpr Argument kArguments[] = {{"FILE", "a recipe or a trajectory: what --recipe-out or --trajectory wrote"},
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

Result<int> tell_trajectory(Invocation& call, std::vector<RecipeDifference> differences,
                            const std::optional<TrajectoryDifference>& found, bool breaks_off) {
  // What the header has as a recipe has no result: that is in the last line.
  std::erase_if(differences, [](const RecipeDifference& one) { return one.field.starts_with("result"); });
  if (found.has_value()) differences.push_back({found->where, found->before, found->after});
  if (!call.settings.boolean("json") && differences.empty()) {
    call.terminal.line(breaks_off ? "[identical as far as the file goes; it breaks off]" : "[identical: every pass]");
    return 0;
  }
  return tell(call, differences);
}

Result<int> replay_trajectory(Invocation& call, const std::string& text, const std::string& name) {
  PLM_TRY_ASSIGN(const Trajectory trajectory, read_trajectory(text, name));
  PLM_TRY_ASSIGN(ReadRecipe was, read_trajectory_recipe(trajectory.header, name));
  if (call.settings.was_given("trace")) {
    return fail(ErrorKind::usage, "--trace: is about samplers; a trajectory has all there is");
  }
  PLM_TRY_ASSIGN(Invocation engine_call, call_for(call, was, name));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(1).empty() ? was.model_path : call.argument(1)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(engine_call, path, 2));
  GenerationRequest& request = was.request;
  PLM_TRY_ASSIGN(const DecoderDefinition* decoder, engine->choose_decoder(request.decoder));
  if (request.trace_top == 0) request.trace_top.reset();  // no samplers were traced
  request.sampling = &was.sampling;
  if (decoder->fills_masks) request.parallel = &was.parallel;
  TextRecord record(engine->vocabulary(), nullptr);
  TrajectoryRecorder recorder(engine->vocabulary(), request.prompt);
  std::size_t passes = 0;
  request.listener = [&](const Event& event) {
    record.on_event(event);
    recorder.on_event(event);
    if (event.kind == EventKind::pass_ran) ++passes;
    if (event.kind == EventKind::stable_prefix && !call.settings.boolean("json")) call.terminal.data(event.text);
  };
  stop_between_batches();
  PLM_TRY_ASSIGN(const auto generation, engine->start(request));
  const Result<void> outcome = engine->run([&] { return was_interrupted() || call.terminal.failure().has_value(); });
  if (!call.settings.boolean("json")) call.terminal.data("\n");
  PLM_TRY(outcome);
  if (!generation->done()) return static_cast<int>(ErrorKind::interrupted);
  PLM_TRY(generation->take());
  const RecipeResult result = record.finish();
  PLM_TRY_ASSIGN(const RecipeFacts facts, recipe_facts(engine_call, *engine));
  const Json recipe = make_recipe(*engine, request, *generation, facts, result);
  const std::string again =
      trajectory_header(recipe, request) + "\n" + recorder.finish() + trajectory_result(result, passes) + "\n";
  PLM_TRY_ASSIGN(const auto found, first_difference(text, again, name));
  PLM_TRY_ASSIGN(const Json as_read, parse_json(json_text(recipe), "recipe"));
  return tell_trajectory(call, recipe_differences(trajectory.header["recipe"], as_read), found,
                         trajectory.result.is_null());
}

Result<int> run(Invocation& call) {
  const std::string name = call.argument(0);
  PLM_TRY_ASSIGN(const std::string text, read_text(name));
  if (is_trajectory(text)) return replay_trajectory(call, text, name);
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
             .summary = "writes the text of a recipe or a trajectory again and compares it to the bit",
             .source = "datasheet, reproducibility",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
