// plm reward: what a reward model gives texts, as a whole or step by step. Tested by tests/cli/test_encoders.py.
#include "base/json.h"
#include "cli/command.h"
#include "cli/model_store.h"
#include "cli/text_inputs.h"
#include "engine/embedding.h"
#include "engine/reward.h"
#include "text/chat/conversation.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    kTextFlag,
    kWholeFlag,
    {.name = "question",
     .summary = "what the texts answer: each is judged as a conversation in the model's chat form",
     .type = ParameterType::text,
     .unit = "TEXT",
     .tag = Tag::pipe},
    {.name = "messages",
     .summary = "each text is a JSON list of messages {\"role\", \"content\"}",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "step",
     .summary = "score every step, at the token that ends it: <extra_0>; where a text has none, one is put behind each "
                "paragraph",
     .type = ParameterType::text,
     .unit = "TOKEN",
     .tag = Tag::pipe},
    kMaxTokensFlag,
    kNoTruncateFlag,
    {.name = "json",
     .summary = "for each text a JSON object on a line of its own",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument, kTextFileArgument};

// The text with `step` behind every paragraph, unless it brings some.
std::string with_steps(const std::string& text, const std::string& step) {
  if (step.empty() || text.find(step) != std::string::npos) return text;
  constexpr std::string_view kGap = "\n\n";
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kGap), rest.size());
    if (end > 0) out.append(rest.substr(0, end)).append(step);
    rest.remove_prefix(std::min(end + kGap.size(), rest.size()));
  }
  return out;
}

class Framing {
 public:
  Framing(const Engine& engine, const Settings& settings) : engine_(engine), settings_(settings) {
    if (settings.was_given("step")) step_ = settings.text("step");
    const std::size_t own = most_text_tokens(engine);
    most_ = settings.has("max_tokens") ? std::min(static_cast<std::size_t>(settings.integer("max_tokens")), own) : own;
  }

  [[nodiscard]] Result<FramedText> frame(const std::string& text) const {
    PLM_TRY_ASSIGN(FramedText framed, whole(text));
    framed.is_cut = framed.is_cut || framed.tokens.size() > most_;
    if (framed.is_cut && settings_.boolean("no_truncate")) {
      return fail(ErrorKind::usage, "more than {} tokens, which is what the model reads; shorten it", most_);
    }
    framed.tokens.resize(std::min(framed.tokens.size(), most_));
    return framed;
  }

 private:
  [[nodiscard]] Result<FramedText> whole(const std::string& text) const {
    if (settings_.boolean("messages")) {
      PLM_TRY_ASSIGN(const Json messages, parse_json(text, "messages"));
      return frame_conversation(engine_, messages, step_);
    }
    const std::string stepped = with_steps(text, step_);
    if (settings_.was_given("question")) {
      const Json messages =
          Json::array({chat_message("user", settings_.text("question")), chat_message("assistant", stepped)});
      return frame_conversation(engine_, messages, step_);
    }
    if (step_.empty()) return frame_text(engine_.tokenizer(), stepped, most_);
    const EncodeOptions options{.add_special = true, .parse_special = true};
    PLM_TRY_ASSIGN(auto tokens, engine_.tokenizer().encode(stepped, options));
    return FramedText{.tokens = std::move(tokens)};
  }

  const Engine& engine_;
  const Settings& settings_;
  std::string step_;
  std::size_t most_ = 0;
};

std::string json_line(const Reward& reward, const std::vector<std::string>& labels, std::size_t index) {
  Json object = {{"index", index}, {"scores", reward.scores}, {"tokens", reward.tokens}, {"truncated", reward.is_cut}};
  if (!labels.empty()) object["labels"] = labels;
  if (!reward.steps.empty()) object["steps"] = reward.steps;
  return json_text(object) + "\n";
}

std::string table_line(const Reward& reward, const std::string& text) {
  std::string line;
  if (reward.steps.empty()) {
    for (const float score : reward.scores) line += fmt::format("{:.6f}\t", score);
  } else {
    for (const double step : reward.steps) line += fmt::format("{:.6f}\t", step);
  }
  return line + preview(text) + "\n";
}

Result<int> run(Invocation& call) {
  const Settings& settings = call.settings;
  if (settings.was_given("question") && settings.boolean("messages")) {
    return fail(ErrorKind::usage, "two conversations; give --question or --messages, not both");
  }
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 64, ModelUse::scoring));
  std::optional<TokenId> step;
  if (settings.was_given("step")) {
    PLM_TRY_ASSIGN(step, step_token(*engine, settings.text("step")));
  }
  PLM_TRY_ASSIGN(const std::vector<std::string> texts, read_texts(call));
  std::vector<FramedText> framed;
  const Framing framing(*engine, settings);
  std::size_t cut = 0;
  for (const std::string& text : texts) {
    auto one = framing.frame(text);
    if (!one.has_value()) {
      return tl::unexpected<Error>(one.error().within(fmt::format("text {}", framed.size() + 1)));
    }
    cut += one->is_cut ? 1 : 0;
    framed.push_back(std::move(*one));
  }
  PLM_TRY_ASSIGN(const auto rewards, reward(*engine, framed, step, reading_hooks(call.terminal, "judging")));
  call.terminal.clear_progress();
  const bool as_json = settings.boolean("json");
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    call.terminal.data(as_json ? json_line(rewards[i], engine->sequence_head().labels(), i)
                               : table_line(rewards[i], texts[i]));
  }
  warn_of_cuts(call.terminal, cut, texts.size());
  return 0;
}

}  // namespace

extern constinit const Command command_reward = {
    .head = {.name = "reward",
             .aliases = "classify",
             .summary = "tells what a reward model or classifier gives each text",
             .source = "datasheet 55, reward models",
             .parameters = kFlags},
    .arguments = kArguments,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
