// plm walk: one prompt through every stage of the network, from its pieces to the token that follows.
// Tested by tests/cli/test_walk.py.
#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "cli/text_flags.h"
#include "engine/walk.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "prompt",
     .aliases = "p",
     .summary = "the text; not given: standard input",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "layer",
     .summary = "one layer in full: every head, every expert chosen",
     .type = ParameterType::integer,
     .min = 0,
     .max = 4095,
     .tag = Tag::pipe},
    kDecoderFlag,
    kSeedFlag,
    kNoBosFlag,
    kSpecialFlag,
    {.name = "json", .summary = "one JSON object instead of tables", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument};

class WalkPage {
 public:
  struct Prompt {
    std::vector<TokenId> ids;
    double ms = 0;
  };
  WalkPage(const Vocabulary& vocabulary, Prompt prompt, const Walk& walk)
      : vocabulary_(vocabulary), prompt_(std::move(prompt)), walk_(walk) {}

  [[nodiscard]] Json as_json() const;
  /// The table of stages.
  [[nodiscard]] std::string stages() const;
  [[nodiscard]] std::string layer(std::size_t index) const;

 private:
  [[nodiscard]] std::string text(TokenId id) const {
    return detokenize(vocabulary_, std::span(&id, 1), {.show_special = true});
  }
  [[nodiscard]] std::string quoted(TokenId id, std::size_t limit = 16) const {
    return fmt::format("\"{}\"", printable(text(id), limit));
  }
  [[nodiscard]] std::string likeliest(const WalkReading& reading) const;
  [[nodiscard]] std::string layer_row(std::size_t index) const;
  [[nodiscard]] std::string choice() const;
  [[nodiscard]] Json layer_json(const WalkLayer& layer) const;

  const Vocabulary& vocabulary_;
  Prompt prompt_;
  const Walk& walk_;
};

Json cost_json(const WalkCost& cost) {
  return {{"ms", cost.ms}, {"weight_bytes", cost.weight_bytes}, {"state_bytes", cost.state_bytes}};
}

std::string cost_columns(const WalkCost& cost) {
  return fmt::format("{:>9.3f}{:>10.3f}", cost.ms,
                     static_cast<double>(cost.weight_bytes + cost.state_bytes) / (1 << 20));
}

// One character a head: how far its entropy is on the way from one cell to all of them alike.
std::string bars(const WalkLayer& layer) {
  constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double most = std::log(std::max<double>(layer.cells_seen, 2));
  std::string line;
  for (const HeadGaze& head : layer.heads) {
    line += kBars[static_cast<std::size_t>(std::clamp(head.entropy / most * 8, 0.0, 7.0))];
  }
  return line;
}

constexpr std::size_t kMostBars = 32;

std::size_t bar_columns(const Walk& walk) {
  std::size_t columns = 5;
  for (const WalkLayer& layer : walk.layers) columns = std::max(columns, std::min(layer.heads.size(), kMostBars));
  return columns;
}

std::string WalkPage::likeliest(const WalkReading& reading) const {
  std::string line;
  for (const auto& likely : reading.likeliest) {
    line += fmt::format("{}{} {:.3f}", line.empty() ? "" : "  ", quoted(likely.token), likely.probability);
  }
  return line;
}

std::string WalkPage::layer_row(std::size_t index) const {
  const WalkLayer& layer = walk_.layers[index];
  std::string branches, heads = "-";
  for (const WalkBranch& branch : layer.branches) branches += fmt::format(" {} {:.2f}", branch.name, branch.norm);
  if (!layer.heads.empty() && layer.heads.size() <= kMostBars) heads = bars(layer);
  if (layer.heads.size() > kMostBars) heads = fmt::format("{} heads", layer.heads.size());
  const std::size_t shown =
      layer.heads.size() > kMostBars ? heads.size() : std::max<std::size_t>(layer.heads.size(), 1);
  heads.append(bar_columns(walk_) - std::min(bar_columns(walk_), shown), ' ');
  std::string experts;
  for (const WalkExpert& expert : layer.experts) {
    experts += fmt::format("{}{}:{:.2f}", experts.empty() ? " experts " : ",", expert.expert, expert.weight);
  }
  return fmt::format("{:<6}{:>9.2f}{}  {} {:<24} {}\n", index, layer.norm, cost_columns(layer.cost), heads,
                     branches.substr(std::min<std::size_t>(1, branches.size())) + experts, likeliest(layer.reading),
                     "");
}

std::string WalkPage::choice() const {
  std::string page;
  if (walk_.trace.has_value()) {
    const TokenTrace& trace = *walk_.trace;
    const auto row = [](std::string_view name, const TraceMoment& at, double removed) {
      return fmt::format("{:<16}{:>9}{:>10.4f}{:>10.4f}{:>7}{:>10.4f}\n", name, at.support, removed, at.entropy,
                         at.rank, at.probability);
    };
    page +=
        fmt::format("\n{:<16}{:>9}{:>10}{:>10}{:>7}{:>10}\n", "chain", "support", "removed", "entropy", "rank", "p");
    page += row("model", trace.raw, 0);
    for (const TraceStep& step : trace.steps) page += row(step.sampler, step.after, step.removed_mass);
  }
  return page + fmt::format("\ntoken  {} {}, {:.3f} ms after the head\n", walk_.token, quoted(walk_.token, 40),
                            walk_.choice_ms);
}

std::string WalkPage::stages() const {
  std::string page = fmt::format("tokens, in {:.3f} ms\n", prompt_.ms);
  std::string line;
  constexpr std::size_t kMostShown = 64;
  const std::size_t first = prompt_.ids.size() - std::min(prompt_.ids.size(), kMostShown);
  if (first > 0) line = fmt::format("... {} before", first);
  for (std::size_t i = first; i < prompt_.ids.size(); ++i) {
    const std::string piece = fmt::format("{} {}", prompt_.ids[i], quoted(prompt_.ids[i]));
    if (line.size() + piece.size() > 110) page += "  " + std::exchange(line, "") + "\n";
    line += (line.empty() ? "" : ", ") + piece;
  }
  page += "  " + line + "\n\n";
  const std::string gap(bar_columns(walk_) - 5, ' ');
  page += fmt::format("{:<6}{:>9}{:>9}{:>10}  heads{} {:<24} {}\n", "stage", "norm", "ms", "MiB", gap, "branches",
                      "likeliest here");
  page += fmt::format("{:<6}{:>9.2f}{}\n", "embed", walk_.embedding_norm, cost_columns(walk_.embedding));
  for (std::size_t i = 0; i < walk_.layers.size(); ++i) page += layer_row(i);
  page += fmt::format("{:<6}{:>9.2f}{}\n", "head", walk_.final_norm, cost_columns(walk_.head));
  return page + choice();
}

std::string WalkPage::layer(std::size_t index) const {
  const WalkLayer& layer = walk_.layers[index];
  std::string page = fmt::format("\nlayer {}: {:.3f} ms, residual stream {:.4f}, the head would give entropy {:.4f}\n",
                                 index, layer.cost.ms, layer.norm, layer.reading.statistics.entropy);
  for (const WalkBranch& branch : layer.branches)
    page += fmt::format("  {:<12} adds {:.4f}\n", branch.name, branch.norm);
  if (!layer.heads.empty()) {
    page += fmt::format("  {:>4}{:>10}  {:<28}{:>8}\n", "head", "entropy", "looks most at", "weight");
  }
  for (std::size_t head = 0; head < layer.heads.size(); ++head) {
    const HeadGaze& gaze = layer.heads[head];
    const bool is_given = gaze.cell < prompt_.ids.size();
    const std::string cell = fmt::format("{} {}", gaze.cell, is_given ? quoted(prompt_.ids[gaze.cell]) : "open");
    page += fmt::format("  {:>4}{:>10.4f}  {:<28}{:>8.4f}", head, gaze.entropy, cell, gaze.weight);
    page += gaze.sink > 0 ? fmt::format("  sink {:.4f}\n", gaze.sink) : "\n";
  }
  for (const WalkExpert& expert : layer.experts) {
    page += fmt::format("  expert {:<5} weight {:.4f}\n", expert.expert, expert.weight);
  }
  return page;
}

Json WalkPage::layer_json(const WalkLayer& layer) const {
  Json heads = Json::array(), experts = Json::array(), likeliest = Json::array(), branches = Json::object();
  for (const WalkBranch& branch : layer.branches) branches[branch.name] = branch.norm;
  for (const HeadGaze& head : layer.heads) {
    Json one = {{"entropy", head.entropy}, {"cell", head.cell}, {"weight", head.weight}};
    if (head.sink > 0) one["sink"] = head.sink;
    heads.push_back(std::move(one));
  }
  for (const WalkExpert& expert : layer.experts) {
    experts.push_back({{"expert", expert.expert}, {"weight", expert.weight}});
  }
  for (const auto& likely : layer.reading.likeliest) {
    likeliest.push_back({{"id", likely.token},
                         {"text", text(likely.token)},
                         {"logit", likely.logit},
                         {"probability", likely.probability}});
  }
  return {{"norm", layer.norm},
          {"branches", branches},
          {"heads", heads},
          {"cells_seen", layer.cells_seen},
          {"experts", experts},
          {"likeliest", likeliest},
          {"entropy", layer.reading.statistics.entropy},
          {"cost", cost_json(layer.cost)}};
}

Json WalkPage::as_json() const {
  Json pieces = Json::array(), layers = Json::array();
  for (const TokenId id : prompt_.ids) pieces.push_back({{"id", id}, {"text", text(id)}});
  for (const WalkLayer& layer : walk_.layers) layers.push_back(layer_json(layer));
  Json object = {{"tokens", pieces},
                 {"tokenize_ms", prompt_.ms},
                 {"rows", walk_.rows},
                 {"embedding", {{"norm", walk_.embedding_norm}, {"cost", cost_json(walk_.embedding)}}},
                 {"layers", layers},
                 {"head", {{"norm", walk_.final_norm}, {"cost", cost_json(walk_.head)}}},
                 {"token", {{"id", walk_.token}, {"text", text(walk_.token)}}},
                 {"choice_ms", walk_.choice_ms}};
  if (walk_.trace.has_value()) object["chain"] = plm::as_json(*walk_.trace);
  return object;
}

constexpr std::string_view kReading =
    "norm: Euclidean, of the row the token is drawn from. ms and MiB read (weights as in the file, keys and values): "
    "of\n"
    "all rows of the pass, each operation waited for. heads: a bar each, its height the entropy of the cell looked "
    "at,\n"
    "from one cell to all alike. branches: the norm of what each adds. likeliest here: what the last norm and the "
    "head\n"
    "would give behind that layer. --layer N tells one layer in full.";

Result<int> run(Invocation& call) {
  const Settings& settings = call.settings;
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  Walker walker;
  PLM_TRY_ASSIGN(const auto engine, load_watched_engine(call, path, walker));
  const std::size_t layers = engine->shape().layer_count;
  if (settings.has("layer") && static_cast<std::size_t>(settings.integer("layer")) >= layers) {
    return fail(ErrorKind::usage, "--layer: {}, the model has layers 0 to {}", settings.integer("layer"), layers - 1);
  }
  std::string text = settings.was_given("prompt") ? settings.text("prompt") : std::string();
  if (!settings.was_given("prompt")) {
    PLM_TRY_ASSIGN(text, read_text("-"));
    if (text.ends_with('\n')) text.pop_back();
  }
  const Stopwatch watch;
  PLM_TRY_ASSIGN(std::vector<TokenId> ids,
                 engine->tokenizer().encode(
                     text, {.add_special = !settings.boolean("no_bos"), .parse_special = settings.boolean("special")}));
  const double ms = watch.elapsed_ms();
  GenerationRequest request{.prompt = ids, .sampling = &settings, .seed = chosen_seed(settings)};
  if (settings.has("decoder")) request.decoder = settings.text("decoder");
  stop_between_batches();
  PLM_TRY_ASSIGN(const Walk walk, walker.walk(*engine, std::move(request), was_interrupted));
  const WalkPage page(engine->vocabulary(), {.ids = std::move(ids), .ms = ms}, walk);
  if (settings.boolean("json")) {
    call.terminal.data(json_text(page.as_json()) + "\n");
    return 0;
  }
  call.terminal.data(page.stages());
  if (settings.has("layer")) call.terminal.data(page.layer(static_cast<std::size_t>(settings.integer("layer"))));
  call.terminal.note(kReading);
  return 0;
}

}  // namespace

extern constinit const Command command_walk = {
    .head = {.name = "walk",
             .summary = "shows a prompt on its way through every stage of the network",
             .source = "datasheet 1, the path of a text; 48, what an entropy is of",
             .parameters = kFlags},
    .arguments = kArguments,
    .samples = true,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
