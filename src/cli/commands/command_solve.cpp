// plm solve: draws several answers to one prompt, judges them and takes one; the others' cost is told.
// Tested by tests/cli/test_solve.py.
#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "cli/text_flags.h"
#include "search/solve.h"

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
     .summary = "file that holds the prompt; - is standard input",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::pipe},
    {.name = "search",
     .summary = "which candidate is taken: best_of_n, vote, weighted, asc, esc, deepconf",
     .type = ParameterType::text,
     .standard = "vote",
     .unit = "METHOD"},
    {.name = "candidates",
     .aliases = "n",
     .summary = "candidates to draw at most",
     .type = ParameterType::integer,
     .standard = std::int64_t{8},
     .min = 1,
     .max = 4096},
    {.name = "verifier",
     .summary = "what judges a candidate: numeric:42, exact:TEXT, choice:B, regex:EXPRESSION, json, code:TESTS.py, "
                "self_certainty",
     .type = ParameterType::text,
     .unit = "NAME[:WHAT]"},
    {.name = "answer",
     .summary = "what counts as a text's answer; not given: as the verifier says, else the whole text",
     .type = ParameterType::choice,
     .choices = kAnswerForms},
    {.name = "max_tokens",
     .summary = "tokens of a candidate at most",
     .type = ParameterType::integer,
     .standard = std::int64_t{256},
     .min = 1,
     .max = 1 << 24,
     .unit = "tokens"},
    {.name = "budget_tokens",
     .summary = "ends the search when all candidates together have so many",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1LL << 40,
     .unit = "tokens"},
    {.name = "budget_passes",
     .summary = "ends the search after so many passes of all candidates",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1LL << 40,
     .unit = "passes"},
    {.name = "budget_ms", .summary = "ends the search after this time", .min = 1, .max = 1e12, .unit = "ms"},
    {.name = "parallel",
     .aliases = "np, n_parallel",
     .summary = "candidates written at once; changes speed, never a candidate",
     .type = ParameterType::integer,
     .standard = std::int64_t{8},
     .min = 1,
     .max = 256,
     .tag = Tag::backend},
    {.name = "return",
     .summary = "what is printed: the chosen text, or all of them",
     .type = ParameterType::choice,
     .standard = "best",
     .choices = "best, all",
     .tag = Tag::pipe},
    kStopFlag,
    kDecoderFlag,
    kSeedFlag,
    kNoBosFlag,
    kSpecialFlag,
    kNoModelDefaultsFlag,
    {.name = "json",
     .summary = "one JSON object: every candidate, the votes, the cost",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument};

Result<std::string> read_prompt(const Settings& settings) {
  if (settings.was_given("prompt") && settings.was_given("file")) {
    return fail(ErrorKind::usage, "more than one prompt; give one of --prompt and --file");
  }
  if (settings.was_given("prompt")) return std::string(settings.text("prompt"));
  PLM_TRY_ASSIGN(std::string text, read_text(settings.was_given("file") ? std::string(settings.text("file")) : "-"));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

struct Chosen {
  std::unique_ptr<SearchMethod> method;
  std::unique_ptr<Verifier> verifier;
  SearchPlan plan;
};

Result<Chosen> choose(const Settings& settings) {
  Chosen chosen;
  PLM_TRY_ASSIGN(const auto* definition, find_search_method(settings.text("search")));
  PLM_TRY_ASSIGN(chosen.method, definition->create(settings));
  if (settings.has("verifier")) {
    PLM_TRY_ASSIGN(chosen.verifier, create_verifier(settings.text("verifier")));
  }
  if (definition->needs_verifier && chosen.verifier == nullptr) {
    return fail(ErrorKind::usage, "--search {}: takes candidates by their scores; add --verifier",
                definition->head.name);
  }
  SearchPlan& plan = chosen.plan;
  plan.method = chosen.method.get();
  plan.verifier = chosen.verifier.get();
  if (settings.has("answer")) plan.answers = find_answer_form(settings.text("answer"));
  plan.candidates = static_cast<std::size_t>(settings.integer("candidates"));
  if (settings.has("budget_tokens")) plan.budget.tokens = static_cast<std::size_t>(settings.integer("budget_tokens"));
  if (settings.has("budget_passes")) plan.budget.passes = static_cast<std::size_t>(settings.integer("budget_passes"));
  if (settings.has("budget_ms")) plan.budget.ms = settings.real("budget_ms");
  return chosen;
}

// How a candidate ended, in one word.
std::string_view state_of(const SearchCandidate& candidate) {
  return candidate.is_whole() ? finish_reason_name(candidate.finish) : "cut";
}

Json as_json(const SearchCandidate& candidate) {
  Json json = {{"index", candidate.index},   {"text", candidate.text},     {"answer", nullptr},
               {"tokens", candidate.tokens}, {"passes", candidate.passes}, {"finish_reason", state_of(candidate)}};
  if (candidate.answer.has_value()) json["answer"] = *candidate.answer;
  if (candidate.verdict.has_value()) {
    json["score"] = candidate.verdict->score;
    if (candidate.verdict->accepted.has_value()) json["accepted"] = *candidate.verdict->accepted;
    if (!candidate.verdict->note.empty()) json["note"] = candidate.verdict->note;
  }
  return json;
}

Json as_json(const SearchOutcome& outcome, std::uint64_t seed) {
  Json candidates = Json::array(), votes = Json::array();
  for (const SearchCandidate& each : outcome.candidates) candidates.push_back(as_json(each));
  for (const VoteCount& each : outcome.votes) {
    votes.push_back({{"answer", each.answer}, {"count", each.count}, {"first", each.first}});
  }
  const SearchCost& cost = outcome.cost;
  Json json = {{"chosen", nullptr},
               {"text", nullptr},
               {"reason", outcome.decision.reason},
               {"seed", seed},
               {"budget_ended", outcome.budget_ended},
               {"candidates", std::move(candidates)},
               {"votes", std::move(votes)},
               {"cost",
                {{"prompt_tokens", cost.prompt_tokens},
                 {"generated_tokens", cost.generated_tokens},
                 {"wasted_tokens", cost.wasted_tokens},
                 {"passes", cost.passes},
                 {"ms", cost.ms}}}};
  if (outcome.decision.chosen.has_value()) {
    json["chosen"] = *outcome.decision.chosen;
    json["text"] = outcome.candidates[*outcome.decision.chosen].text;
  }
  return json;
}

void print(Terminal& terminal, const SearchOutcome& outcome, const Settings& settings) {
  const auto& chosen = outcome.decision.chosen;
  if (settings.text("return") == "all") {
    for (const SearchCandidate& each : outcome.candidates) {
      const std::string score = each.verdict.has_value() ? fmt::format(", score {:.4g}", each.verdict->score) : "";
      const std::string note =
          each.verdict.has_value() && !each.verdict->note.empty() ? ": " + printable(each.verdict->note, 100) : "";
      terminal.line(fmt::format("--- candidate {}{}: {}, {} tokens{}{}", each.index,
                                chosen == each.index ? " (chosen)" : "", state_of(each), each.tokens, score, note));
      terminal.data(each.text + "\n");
    }
  } else if (chosen.has_value()) {
    terminal.data(outcome.candidates[*chosen].text + "\n");
  }
  terminal.line(fmt::format("[{}{}]", chosen.has_value() ? fmt::format("candidate {}: ", *chosen) : "nothing chosen: ",
                            outcome.decision.reason));
  const SearchCost& cost = outcome.cost;
  terminal.line(fmt::format("[{} candidates, {} tokens written, {} of them for nothing, {:.1f} s{}]",
                            outcome.candidates.size(), cost.generated_tokens, cost.wasted_tokens, cost.ms / 1000,
                            outcome.budget_ended ? "; ended by the budget" : ""));
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const Chosen chosen, choose(call.settings));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const std::string prompt, read_prompt(call.settings));
  PLM_TRY_ASSIGN(const auto engine,
                 load_engine(call, path, static_cast<std::size_t>(call.settings.integer("parallel")) + 1));
  use_model_defaults(call, *engine);
  const Settings& settings = call.settings;
  GenerationRequest request{.max_tokens = static_cast<std::size_t>(settings.integer("max_tokens")),
                            .sampling = &settings,
                            .stops = call.all("stop"),
                            .seed = chosen_seed(settings),
                            .parallel = &settings};
  if (settings.has("decoder")) request.decoder = settings.text("decoder");
  const EncodeOptions options{.add_special = !settings.boolean("no_bos"), .parse_special = settings.boolean("special")};
  PLM_TRY_ASSIGN(request.prompt, engine->tokenizer().encode(prompt, options));
  stop_between_batches();
  std::size_t finished = 0;
  const SearchHooks hooks{
      .interrupted = was_interrupted, .on_candidate = [&](CandidateEvent event, const SearchCandidate&) {
        if (event != CandidateEvent::finished) return;
        call.terminal.progress("candidates",
                               static_cast<double>(++finished) / static_cast<double>(chosen.plan.candidates));
      }};
  PLM_TRY_ASSIGN(const SearchOutcome outcome, solve(*engine, request, chosen.plan, hooks));
  call.terminal.clear_progress();
  if (settings.boolean("json")) {
    call.terminal.data(json_text(as_json(outcome, request.seed)) + "\n");
  } else {
    print(call.terminal, outcome, settings);
  }
  return outcome.decision.chosen.has_value() ? 0 : static_cast<int>(ErrorKind::failed);
}

}  // namespace

extern constinit const Command command_solve = {
    .head = {.name = "solve",
             .summary = "draws several answers, judges them and takes one",
             .source = "datasheet 38 to 42, test-time compute",
             .parameters = kFlags},
    .arguments = kArguments,
    .samples = true,
    .fills_pages = true,
    .searches = true,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
