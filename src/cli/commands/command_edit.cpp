// plm edit: writes lines of a file anew, seeing what stands before and behind them, by an instruction if there is one;
// or with a strength masks some of its tokens at random and lets the model decide them again.
// Tested by tests/cli/test_infill.py.
#include "base/json.h"
#include "cli/chat_flags.h"
#include "cli/engine_flags.h"
#include "cli/hole_filling.h"
#include "cli/line_range.h"
#include "cli/model_store.h"
#include "cli/text_flags.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "range",
     .aliases = "lines",
     .summary = "lines to edit, 10:14; the line feed at their end stays; not given, with --strength: all",
     .type = ParameterType::text,
     .unit = "FROM:TO",
     .tag = Tag::pipe},
    {.name = "instruct",
     .aliases = "instruction, i",
     .summary = "what is to be done, in words; the model's chat template puts it in front, with the file",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "strength",
     .summary = "masks each token with this probability and fills those in again; 1: all; not given: the lines are "
                "written anew",
     .type = ParameterType::real,
     .min = 0,
     .max = 1},
    {.name = "in_place",
     .summary = "writes the file, not standard output",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    kSeedFlag,
    kDecoderFlag,
    kChatTemplateFlag,
    kTemplateVariablesFlag,
    kThinkingFlag,
    kSpecialInMessagesFlag,
    kNoBosFlag,
    kSpecialFlag,
    {.name = "json",
     .summary = "a JSON object with the file and what took the lines' place",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    kTrajectoryFlag,
    kNoAnimationFlag,
    kFrameMsFlag,
};
constexpr Argument kArguments[] = {kModelArgument, {"FILE", "the text; - is standard input"}};

class Edit {
 public:
  Edit(Invocation& call, Engine& engine, std::string text, TextPart part)
      : call_(call), engine_(engine), filling_(call, engine), text_(std::move(text)), part_(part) {}

  Result<int> run();

 private:
  [[nodiscard]] std::string_view old() const {
    return std::string_view(text_).substr(part_.begin, part_.end - part_.begin);
  }
  [[nodiscard]] std::string before() const { return text_.substr(0, part_.begin); }
  [[nodiscard]] std::string behind() const { return text_.substr(part_.end); }
  [[nodiscard]] EncodeOptions options(bool begins_text) const {
    return {.add_special = begins_text && !call_.settings.boolean("no_bos"),
            .parse_special = call_.settings.boolean("special")};
  }
  Result<std::vector<TokenId>> instruction() const;
  Result<std::vector<TokenId>> front(std::span<const TokenId> ahead) const;
  Result<std::string> write_anew(std::span<const TokenId> ahead);
  Result<std::string> mask_and_fill(std::span<const TokenId> ahead);
  Result<void> give_out(const std::string& edited);

  Invocation& call_;
  Engine& engine_;
  HoleFilling filling_;
  std::string text_;
  TextPart part_;
};

// The tokens in front of the text, none without an instruction.
Result<std::vector<TokenId>> Edit::instruction() const {
  const Settings& settings = call_.settings;
  if (!settings.was_given("instruct")) return std::vector<TokenId>();
  PLM_TRY_ASSIGN(const ChatTemplate chat_template, load_chat_template(call_, engine_.vocabulary()));
  Conversation conversation;
  conversation.messages.push_back(chat_message("user", settings.text("instruct") + "\n\n" + text_));
  PLM_TRY(apply_chat_flags(settings, conversation));
  PLM_TRY_ASSIGN(const ChatPrompt prompt, chat_template.render(conversation));
  return encode_prompt(prompt, engine_.tokenizer(), settings);
}

Result<std::string> Edit::write_anew(std::span<const TokenId> ahead) {
  PLM_TRY_ASSIGN(const std::optional<std::size_t> length, page_length(call_.settings));
  PLM_TRY_ASSIGN(const auto ids, encode_continuation(engine_.tokenizer(), old(), options(false)));
  // As long as what it takes the place of.
  HoleyText text{.texts = {before(), behind()}, .lengths = {length.value_or(std::max<std::size_t>(ids.size(), 1))}};
  if (!filling_.fills_masks() && call_.settings.was_given("instruct")) {
    text.texts[0] = call_.settings.text("instruct") + "\n" + text.texts[0];
  }
  PLM_TRY_ASSIGN(const std::vector<FilledHole> holes, filling_.fill(text, ahead));
  return holes.front().text;
}

// All that is given in front of the lines.
Result<std::vector<TokenId>> Edit::front(std::span<const TokenId> ahead) const {
  if (ahead.empty()) {
    PLM_TRY_ASSIGN(GivenAndHoles page,
                   encode_holes(engine_.tokenizer(), {.texts = {before()}, .lengths = {}}, options(true)));
    return std::move(page.given);
  }
  std::vector<TokenId> given(ahead.begin(), ahead.end());
  PLM_TRY_ASSIGN(const auto ids, encode_continuation(engine_.tokenizer(), before(), options(false)));
  given.insert(given.end(), ids.begin(), ids.end());
  return given;
}

Result<std::string> Edit::mask_and_fill(std::span<const TokenId> ahead) {
  const Tokenizer& tokenizer = engine_.tokenizer();
  const bool begins_text = ahead.empty() && part_.begin == 0;
  PLM_TRY_ASSIGN(const auto tokens, begins_text ? tokenizer.encode(old(), options(false))
                                                : encode_continuation(tokenizer, old(), options(false)));
  if (tokens.empty()) return fail(ErrorKind::usage, "--strength: the lines hold no text to mask");
  PLM_TRY_ASSIGN(const std::vector<TokenId> given, front(ahead));
  PLM_TRY_ASSIGN(const auto rest, encode_continuation(tokenizer, behind(), options(false)));
  GivenAndHoles page =
      masked_at_random(tokens, given.size(), call_.settings.real("strength"), chosen_seed(call_.settings));
  const std::size_t end = given.size() + page.given.size();
  page.given.insert(page.given.begin(), given.begin(), given.end());
  page.given.insert(page.given.end(), rest.begin(), rest.end());
  PLM_TRY_ASSIGN(const std::vector<FilledHole> holes, filling_.fill(page, ahead.size()));
  std::vector<TokenId> edited;
  std::size_t from = given.size();
  const auto keep_until = [&](std::size_t position) {
    for (; from < position; ++from) edited.push_back(page.given[from]);
  };
  for (std::size_t i = 0; i < holes.size(); ++i) {
    keep_until(page.holes[i].position);
    edited.insert(edited.end(), holes[i].ids.begin(), holes[i].ids.end());
  }
  keep_until(end);
  return detokenize(engine_.vocabulary(), edited, {.whole_text = begins_text});
}

Result<void> Edit::give_out(const std::string& edited) {
  const std::string whole = before() + edited + behind();
  if (call_.settings.boolean("in_place")) PLM_TRY(write_text(call_.argument(1), whole));
  if (call_.settings.boolean("json")) {
    call_.terminal.data(json_text({{"text", whole}, {"edited", edited}, {"passes", filling_.cost().passes()}}) + "\n");
  } else if (!call_.settings.boolean("in_place")) {
    call_.terminal.data(whole);
  }
  return {};
}

Result<int> Edit::run() {
  PLM_TRY(filling_.check_model());
  const bool masks = call_.settings.has("strength");
  if (masks && !filling_.fills_masks()) {
    return fail(
        ErrorKind::usage,
        "--strength: masks tokens, which this model cannot fill: it writes one token after another; leave it out");
  }
  std::vector<TokenId> ahead;
  if (filling_.fills_masks()) {
    PLM_TRY_ASSIGN(ahead, instruction());
  }
  PLM_TRY_ASSIGN(const std::string edited, masks ? mask_and_fill(ahead) : write_anew(ahead));
  PLM_TRY(give_out(edited));
  return 0;
}

Result<int> run(Invocation& call) {
  const Settings& settings = call.settings;
  if (!settings.was_given("range") && !settings.has("strength")) {
    return fail(ErrorKind::usage,
                "nothing says what is to be edited; give lines, --range 10:14, or --strength 0.4, or both");
  }
  if (settings.has("strength") && settings.has("length")) {
    return fail(ErrorKind::usage, "--length: with --strength the text keeps its length; leave one of them out");
  }
  if (settings.boolean("in_place") && call.argument(1) == "-") {
    return fail(ErrorKind::usage, "--in-place: standard input is no file; name one");
  }
  PLM_TRY_ASSIGN(std::string text, read_text(call.argument(1)));
  TextPart part{0, text.size() - (text.ends_with('\n') ? 1 : 0)};
  if (settings.was_given("range")) {
    PLM_TRY_ASSIGN(part, part_of_lines(text, settings.text("range")));
  }
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 1));
  return Edit(call, *engine, std::move(text), part).run();
}

}  // namespace

extern constinit const Command command_edit = {
    .head = {.name = "edit",
             .summary = "writes lines of a file anew",
             .source = "datasheet, infill",
             .parameters = kFlags},
    .arguments = kArguments,
    .samples = true,
    .fills_pages = true,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
