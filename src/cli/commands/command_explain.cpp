// plm explain: reads a trace and shows how tokens came to be chosen: one line for each, or one token's funnel from the
// model's distribution through every sampler; or a trajectory, and shows what every pass did, or one position's story.
// Tested by tests/cli/test_sampling.py and tests/cli/test_trajectory.py.
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/help.h"
#include "cli/trajectory_story.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "token",
     .aliases = "n",
     .summary = "the funnel of the token with this number, 1 the first; not given: a line for each",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1e9},
    {.name = "position",
     .summary = "of a trajectory: the story of this position, 0 the first of the text, the prompt's among them",
     .type = ParameterType::integer,
     .min = 0,
     .max = 1e9},
};
constexpr Argument kArguments[] = {{"FILE", "a file that --trace or --trajectory wrote; - is standard input"}};

/// One line of a trace, checked.
struct TracedToken {
  Json line;
  [[nodiscard]] const Json& last() const { return line["steps"].empty() ? line["raw"] : line["steps"].back(); }
};

bool is_moment(const Json& json) {
  if (!json.is_object()) return false;
  for (const char* key : {"support", "rank"}) {
    if (!json.contains(key) || !json[key].is_number_unsigned()) return false;
  }
  for (const char* key : {"entropy", "probability"}) {
    if (!json.contains(key) || !json[key].is_number()) return false;
  }
  return true;
}

bool is_likely(const Json& json) {
  return json.is_object() && json.contains("text") && json["text"].is_string() && json.contains("logit") &&
         json["logit"].is_number() && json.contains("probability") && json["probability"].is_number();
}

bool is_step(const Json& json) {
  if (!is_moment(json) || !json.contains("sampler") || !json["sampler"].is_string()) return false;
  if (!json.contains("removed_mass") || !json["removed_mass"].is_number()) return false;
  const Json state = json.value("state", Json::array());
  return state.is_array() && std::all_of(state.begin(), state.end(), [](const Json& x) { return x.is_number(); });
}

bool is_token(const Json& json) {
  if (!json.is_object() || !json.contains("raw") || !json.contains("steps") || !json["steps"].is_array()) return false;
  for (const char* key : {"position", "id", "random"}) {
    if (!json.contains(key) || !json[key].is_number()) return false;
  }
  if (!json.contains("text") || !json["text"].is_string() || !is_moment(json["raw"])) return false;
  const Json top = json["raw"].value("top", Json());
  return top.is_array() && std::all_of(top.begin(), top.end(), is_likely) &&
         std::all_of(json["steps"].begin(), json["steps"].end(), is_step);
}

// The tokens that stayed, in order.
Result<std::vector<TracedToken>> read_trace(const std::string& text, const std::string& name) {
  std::vector<TracedToken> tokens;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string where = fmt::format("{}: line {}", name == "-" ? "standard input" : printable(name), number + 1);
    PLM_TRY_ASSIGN(Json line, parse_json(std::string_view(text).substr(begin, end - begin), where));
    begin = end + 1;
    if (line.is_object() && line.contains("taken_back")) {
      if (!tokens.empty()) tokens.pop_back();
      continue;
    }
    if (!is_token(line)) return fail(ErrorKind::bad_input, "{}: is no line of a trace that plm wrote", where);
    tokens.push_back({std::move(line)});
  }
  return tokens;
}

// `text` in quotes, at most so wide.
std::string in_quotes(const std::string& text, std::size_t width) {
  return fmt::format("{:<{}}", "\"" + printable(text, width - 2) + "\"", width);
}

std::string overview(const std::vector<TracedToken>& tokens) {
  std::string text = fmt::format("{:>5}  {:<20}{:>9}{:>8}{:>9}{:>9}{:>8}{:>9}\n", "token", "text", "entropy", "rank",
                                 "p", "support", "rank", "p");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Json& raw = tokens[i].line["raw"];
    const Json& last = tokens[i].last();
    text += fmt::format("{:>5}  {}{:>9.4f}{:>8}{:>9.4f}{:>9}{:>8}{:>9.4f}\n", i + 1,
                        in_quotes(tokens[i].line["text"].get<std::string>(), 20), raw["entropy"].get<double>(),
                        raw["rank"].get<std::uint64_t>(), raw["probability"].get<double>(),
                        last["support"].get<std::uint64_t>(), last["rank"].get<std::uint64_t>(),
                        last["probability"].get<double>());
  }
  return text;
}

std::string moment_row(std::string_view name, const Json& moment, const std::string& removed) {
  return fmt::format("{:<14}{:>9}{:>10}{:>10.4f}{:>8}{:>10.4f}", name, moment["support"].get<std::uint64_t>(), removed,
                     moment["entropy"].get<double>(), moment["rank"].get<std::uint64_t>(),
                     moment["probability"].get<double>());
}

std::string funnel(const TracedToken& token, std::size_t number) {
  const Json& line = token.line;
  std::string text = fmt::format("token {} at position {}: {} {}, drawn with {:.6f}\n\n", number,
                                 line["position"].get<std::int64_t>(), line["id"].get<std::int64_t>(),
                                 in_quotes(line["text"].get<std::string>(), 40), line["random"].get<double>());
  text += fmt::format("{:<14}{:>9}{:>10}{:>10}{:>8}{:>10}  state\n", "", "support", "removed", "entropy", "rank", "p");
  text += moment_row("model", line["raw"], "") + "\n";
  for (const Json& step : line["steps"]) {
    const double removed = step["removed_mass"].get<double>();
    text += moment_row(printable(step["sampler"].get<std::string>(), 13), step,
                       removed > 0 ? fmt::format("{:.4f}", removed) : "0");
    for (const Json& number_kept : step.value("state", Json::array())) {
      text += fmt::format("  {:.4f}", number_kept.get<double>());
    }
    text += "\n";
  }
  if (line["raw"]["top"].empty()) return text;
  text += fmt::format("\n{:<24}{:>10}{:>10}\n", "likeliest", "logit", "p");
  for (const Json& likely : line["raw"]["top"]) {
    text += fmt::format("{}{:>10.4f}{:>10.4f}\n", in_quotes(likely["text"].get<std::string>(), 24),
                        likely["logit"].get<double>(), likely["probability"].get<double>());
  }
  return text;
}

Result<int> explain_trajectory(Invocation& call, const std::string& text, const std::string& name) {
  if (call.settings.has("token")) {
    return fail(ErrorKind::usage, "--token: is about a trace; of a trajectory tell the --position");
  }
  PLM_TRY_ASSIGN(const Trajectory trajectory, read_trajectory(text, name));
  if (!call.settings.has("position")) {
    call.terminal.data(trajectory_overview(trajectory));
    return 0;
  }
  const auto position = static_cast<std::size_t>(call.settings.integer("position"));
  PLM_TRY_ASSIGN(const std::string story, trajectory_story(trajectory, position));
  call.terminal.data(story);
  return 0;
}

Result<int> run(Invocation& call) {
  const std::string name = call.argument(0);
  PLM_TRY_ASSIGN(const std::string text, read_text(name));
  if (is_trajectory(text)) return explain_trajectory(call, text, name);
  if (call.settings.has("position")) {
    return fail(ErrorKind::usage, "--position: is about a trajectory; of a trace tell the --token");
  }
  PLM_TRY_ASSIGN(const auto tokens, read_trace(text, name));
  if (!call.settings.has("token")) {
    call.terminal.data(overview(tokens));
    return 0;
  }
  const auto number = static_cast<std::size_t>(call.settings.integer("token"));
  if (number > tokens.size()) {
    return fail(ErrorKind::usage, "--token: {} is out of range, the trace has {} tokens", number, tokens.size());
  }
  call.terminal.data(funnel(tokens[number - 1], number));
  return 0;
}

}  // namespace

extern constinit const Command command_explain = {
    .head = {.name = "explain",
             .summary = "shows how the tokens of a trace or a trajectory were chosen",
             .source = "datasheet part X, the trace of the samplers",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
