// plm grammar: what a grammar says, without a model: whether a text fits it and where it does not, what it is made of,
// and texts at random. Tested by tests/cli/test_constraint.py.
#include <algorithm>

#include "base/json.h"
#include "base/philox.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "constraint/automaton.h"
#include "constraint/constraint_source.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "language",
     .aliases = "l",
     .summary = "what FILE is written in; auto: JSON Schema where its name ends in .json, else GBNF",
     .type = ParameterType::choice,
     .standard = "auto",
     .choices = "auto, gbnf, regex, json_schema"},
    {.name = "count",
     .aliases = "n",
     .summary = "texts to generate",
     .type = ParameterType::integer,
     .standard = std::int64_t{5},
     .min = 1,
     .max = 100000},
    {.name = "length",
     .summary = "bytes after which a generated text is ended as soon as it can be",
     .type = ParameterType::integer,
     .standard = std::int64_t{80},
     .min = 0,
     .max = 1 << 20,
     .unit = "bytes"},
    kSeedFlag,
    {.name = "lenient",
     .summary = "what cannot be enforced is a warning, not an error",
     .type = ParameterType::boolean},
    {.name = "json", .summary = "one JSON object for each text", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {
    {"ACTION", "check: whether TEXT fits; explain: what the grammar is made of; generate: texts at random", true,
     "check, explain, generate"},
    {"FILE", "a grammar, an expression or a schema; - is standard input"},
    {"TEXT", "to check; not given: standard input, a line feed at its end dropped", false},
};

Result<Grammar> load(Invocation& call) {
  const std::string name = call.argument(1);
  ConstraintSource source{.lenient = call.settings.boolean("lenient")};
  PLM_TRY_ASSIGN(source.text, read_text(name));
  const std::string language = call.settings.text("language");
  source.language = name.ends_with(".json") ? ConstraintLanguage::json_schema : ConstraintLanguage::gbnf;
  if (language != "auto") source.language = *find_constraint_language(language);
  if (source.language == ConstraintLanguage::regex && source.text.ends_with('\n')) source.text.pop_back();
  std::vector<std::string> warnings;
  auto grammar = grammar_of(source, {}, warnings);
  for (const std::string& sentence : warnings) call.terminal.warning(sentence);
  if (!grammar.has_value()) return tl::unexpected(grammar.error().within(name));
  return grammar;
}

// What may come next, for people: 'a'-'z', '\n', end.
std::string spelled(const ByteSet& bytes, bool may_end) {
  std::string text;
  const auto byte_name = [](unsigned byte) { return "'" + printable(std::string(1, static_cast<char>(byte))) + "'"; };
  for (unsigned first = 0; first < 256; ++first) {
    if (!bytes.contains(static_cast<std::uint8_t>(first))) continue;
    unsigned last = first;
    while (last < 255 && bytes.contains(static_cast<std::uint8_t>(last + 1))) ++last;
    text += (text.empty() ? "" : ", ") + byte_name(first);
    if (last > first) text += (last == first + 1 ? ", " : " to ") + byte_name(last);
    first = last;
  }
  if (may_end) text += text.empty() ? "the end" : " or the end";
  return text;
}

std::string place_of(std::string_view text, std::size_t at) {
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  const std::size_t line_begin = text.rfind('\n', at == 0 ? 0 : at - 1);
  const std::size_t column = at - (line_begin == std::string_view::npos || at == 0 ? 0 : line_begin + 1) + 1;
  return fmt::format("line {}, byte {}", line, column);
}

Result<int> check(Invocation& call, Automaton& automaton) {
  std::string text = call.argument(2);
  if (call.arguments.size() < 3) {
    PLM_TRY_ASSIGN(text, read_text("-"));
    if (text.ends_with('\n')) text.pop_back();
  }
  StateId state = automaton.start();
  std::size_t read = 0;
  for (; read < text.size(); ++read) {
    const StateId next = automaton.step(state, static_cast<std::uint8_t>(text[read]));
    if (next == StateId::dead) break;
    state = next;
  }
  if (automaton.failure()) return tl::unexpected(*automaton.failure());
  const bool fits = read == text.size() && automaton.accepts(state);
  const std::string expected = fits ? "" : spelled(automaton.next_bytes(state), automaton.accepts(state));
  if (call.settings.boolean("json")) {
    Json verdict{{"fits", fits}, {"read", read}};
    if (!fits) verdict["expected"] = expected;
    call.terminal.data(json_text(verdict) + "\n");
  } else if (fits) {
    call.terminal.data("fits\n");
  } else {
    const bool ended = read == text.size();
    const std::size_t length = ended ? 0 : std::max<std::size_t>(1, utf8_character_length(text.substr(read)));
    call.terminal.data(fmt::format("does not fit: {}: found {}, expected {}\n", place_of(text, read),
                                   ended ? "the end" : "'" + printable(text.substr(read, length)) + "'", expected));
  }
  return fits ? 0 : static_cast<int>(ErrorKind::unsatisfiable);
}

Result<std::string> shortest(Automaton& automaton, StateId state) {
  PLM_TRY_ASSIGN(const auto pieces, automaton.completion(state, std::size_t{1} << 20U));
  std::string text;
  for (const Automaton::Piece& piece : pieces) {
    const auto* part = std::get_if<std::string>(&piece);
    text += part != nullptr ? *part : fmt::format("<[{}]>", std::get<TokenId>(piece));
  }
  return text;
}

Result<int> explain(Invocation& call, Automaton& automaton, std::size_t rules, std::size_t parts) {
  PLM_TRY_ASSIGN(const std::string text, shortest(automaton, automaton.start()));
  const std::string first = spelled(automaton.next_bytes(automaton.start()), automaton.accepts(automaton.start()));
  if (call.settings.boolean("json")) {
    call.terminal.data(json_text({{"rules", rules}, {"parts", parts}, {"begins_with", first}, {"shortest", text}}) +
                       "\n");
    return 0;
  }
  call.terminal.data(fmt::format("rules        {}\nparts        {}\nbegins with  {}\nshortest     {} ({} bytes)\n",
                                 rules, parts, first, printable(text), text.size()));
  return 0;
}

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : seed_(seed) {}
  double next() { return uniform({.seed = seed_, .cell = count_++}); }
  std::size_t below(std::size_t n) {
    return std::min(n - 1, static_cast<std::size_t>(next() * static_cast<double>(n)));
  }

 private:
  std::uint64_t seed_;
  std::uint32_t count_ = 0;
};

// A walk at random, mostly over printable characters, that is ended as soon as it can be once it is long.
Result<std::string> generated(Automaton& automaton, Numbers& numbers, std::size_t length) {
  constexpr double kEnds = 0.2, kStaysPrintable = 0.97;
  StateId state = automaton.start();
  std::string text;
  while (text.size() < length) {
    const ByteSet next = automaton.next_bytes(state);
    if (automaton.accepts(state) && (next.empty() || numbers.next() < kEnds)) return text;
    const ByteSet plain = next & ByteSet::range(' ', '~');
    const ByteSet& from = !plain.empty() && numbers.next() < kStaysPrintable ? plain : next;
    if (from.empty()) break;  // only tokens may follow
    std::size_t skip = numbers.below(from.size());
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!from.contains(static_cast<std::uint8_t>(byte)) || skip-- > 0) continue;
      text.push_back(static_cast<char>(byte));
      state = automaton.step(state, static_cast<std::uint8_t>(byte));
      break;
    }
  }
  if (automaton.failure()) return tl::unexpected(*automaton.failure());
  PLM_TRY_ASSIGN(const std::string end, shortest(automaton, state));
  return text + end;
}

Result<int> generate(Invocation& call, Automaton& automaton) {
  Numbers numbers(chosen_seed(call.settings));
  for (std::int64_t i = 0; i < call.settings.integer("count"); ++i) {
    PLM_TRY_ASSIGN(const std::string text,
                   generated(automaton, numbers, static_cast<std::size_t>(call.settings.integer("length"))));
    call.terminal.data((call.settings.boolean("json") ? json_text({{"text", text}}) : text) + "\n");
  }
  return 0;
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(Grammar grammar, load(call));
  const std::size_t rules = grammar.rules().size(), parts = grammar.size();
  Automaton automaton(std::move(grammar));
  if (call.argument(0) == "check") return check(call, automaton);
  if (call.argument(0) == "explain") return explain(call, automaton, rules, parts);
  return generate(call, automaton);
}

}  // namespace

extern constinit const Command command_grammar = {
    .head = {.name = "grammar",
             .aliases = "",
             .summary = "checks texts against a grammar, explains it, makes texts that fit it",
             .source = "datasheet, constraints",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
