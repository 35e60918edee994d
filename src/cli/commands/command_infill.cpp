// plm infill: fills the holes of a text, seeing what stands before and behind them. Tested by tests/cli/test_infill.py.
#include "base/json.h"
#include "cli/engine_flags.h"
#include "cli/hole_filling.h"
#include "cli/model_store.h"
#include "cli/text_flags.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "template",
     .aliases = "p, prompt",
     .summary =
         "the text, with {{hole:12}} where up to 12 tokens are to be filled in; \\n and \\t are a line feed and a "
         "tab, \\\\ a backslash",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "file",
     .aliases = "f",
     .summary = "a file that holds the text, in which backslashes are backslashes; - is standard input, as when no "
                "--template is given",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::pipe},
    {.name = "no_escape",
     .summary = "backslashes of --template are backslashes",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    kSeedFlag,
    kDecoderFlag,
    kNoBosFlag,
    kSpecialFlag,
    {.name = "json",
     .summary = "a JSON object with the text and what was filled into each hole",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    kTrajectoryFlag,
    kNoAnimationFlag,
    kFrameMsFlag,
};
constexpr Argument kArguments[] = {kModelArgument};

Result<HoleyText> read_template(const Invocation& call) {
  const Settings& settings = call.settings;
  PLM_TRY_ASSIGN(const std::optional<std::size_t> length, page_length(settings));
  if (settings.was_given("template") && settings.was_given("file")) {
    return fail(ErrorKind::usage, "two texts; give --template or --file, not both");
  }
  if (settings.was_given("template")) {
    const std::string text = settings.text("template");
    return parse_holes(settings.boolean("no_escape") ? text : unescaped(text), length);
  }
  PLM_TRY_ASSIGN(const std::string text, read_text(settings.was_given("file") ? settings.text("file") : "-"));
  return parse_holes(text, length);
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const HoleyText text, read_template(call));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 1));
  HoleFilling filling(call, *engine);
  PLM_TRY(filling.check_model());
  if (call.settings.was_given("trajectory") && !filling.fills_masks() && text.lengths.size() > 1) {
    return fail(ErrorKind::usage, "--trajectory: is of one text; this model fills {} holes one after another",
                text.lengths.size());
  }
  PLM_TRY_ASSIGN(const std::vector<FilledHole> holes, filling.fill(text));
  const std::string whole = joined(text, holes);
  if (!call.settings.boolean("json")) {
    call.terminal.data(whole.ends_with('\n') ? whole : whole + "\n");
    return 0;
  }
  Json list = Json::array();
  for (const FilledHole& hole : holes) list.push_back({{"text", hole.text}, {"ids", hole.ids}});
  call.terminal.data(json_text({{"text", whole}, {"holes", std::move(list)}, {"passes", filling.cost().passes()}}) +
                     "\n");
  return 0;
}

}  // namespace

extern constinit const Command command_infill = {
    .head = {.name = "infill",
             .aliases = "fill",
             .summary = "fills the holes of a text",
             .source = "datasheet, infill",
             .parameters = kFlags},
    .arguments = kArguments,
    .samples = true,
    .fills_pages = true,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
