// Pages under a constraint against every page of small vocabularies.
#include "constraint/canvas_lattice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "base/philox.h"
#include "constraint/json_schema.h"
#include "constraint/regex_parser.h"

namespace plm {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

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

Grammar regex_grammar(const std::string& expression) {
  GrammarBuilder builder;
  const RuleId root = builder.declare("root");
  builder.define(root, builder.regular(parse_regex(builder.store(), expression).value()));
  return builder.finish(root).value();
}

std::string random_expression(Numbers& numbers, int depth) {
  const auto inner = [&] { return random_expression(numbers, depth - 1); };
  const char* letters[] = {"a", "b", "c"};
  if (depth == 0) return letters[numbers.below(3)];
  switch (numbers.below(5)) {
    case 0: return inner() + inner();
    case 1: return "(?:" + inner() + "|" + inner() + ")";
    case 2: return "(?:" + inner() + ")*";
    case 3: return "(?:" + inner() + ")?" + inner();
    default: return "(?:" + inner() + "){1,2}";
  }
}

// What a small case says when every page is written out.
struct Enumerated {
  double best = kNever;
  double mass = 0;
  std::vector<std::map<TokenId, double>> marginals;
};

struct SmallCase {
  std::vector<std::string> texts;  // the last token ends the text
  std::vector<std::vector<double>> rows;
  std::vector<CanvasCell> cells;

  SmallCase(Numbers& numbers, std::size_t length) {
    const char* pieces[] = {"a", "b", "c", "ab", "bc", "ca", "aa"};
    const std::size_t count = 2 + numbers.below(4);
    for (std::size_t i = 0; i < count; ++i) texts.emplace_back(pieces[numbers.below(7)]);
    texts.emplace_back();
    rows.resize(length);
    for (auto& row : rows) {
      double sum = 0;
      for (std::size_t i = 0; i < texts.size(); ++i) sum += row.emplace_back(0.05 + numbers.next());
      for (double& value : row) value = std::log(value / sum);
    }
    for (std::size_t i = 0; i < length; ++i) {
      const bool given = numbers.next() < 0.25;
      cells.push_back(given ? CanvasCell{static_cast<TokenId>(numbers.below(texts.size()))}
                            : CanvasCell{kNoToken, rows[i]});
    }
  }
  [[nodiscard]] TokenId end() const { return static_cast<TokenId>(texts.size() - 1); }
};

bool fits(Automaton& automaton, const SmallCase& small, const std::vector<TokenId>& page) {
  StateId state = automaton.start();
  bool ended = false;
  for (const TokenId token : page) {
    if (token == small.end()) {
      if (!ended && !automaton.accepts(state)) return false;
      ended = true;
    } else {
      if (ended) return false;
      state = automaton.step(state, small.texts[static_cast<std::size_t>(token)]);
    }
  }
  return automaton.accepts(state);
}

Enumerated enumerate(Automaton& automaton, const SmallCase& small) {
  Enumerated result;
  const std::size_t length = small.cells.size();
  result.marginals.resize(length);
  std::vector<TokenId> page(length, 0);
  for (;;) {
    double weight = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const CanvasCell& cell = small.cells[i];
      if (cell.token == kNoToken)
        weight += cell.log_probabilities[static_cast<std::size_t>(page[i])];
      else if (cell.token != page[i])
        weight = kNever;
    }
    if (weight != kNever && fits(automaton, small, page)) {
      result.best = std::max(result.best, weight);
      result.mass += std::exp(weight);
      for (std::size_t i = 0; i < length; ++i) result.marginals[i][page[i]] += std::exp(weight);
    }
    std::size_t place = 0;
    while (place < length && ++page[place] == static_cast<TokenId>(small.texts.size())) page[place++] = 0;
    if (place == length) return result;
  }
}

TEST(CanvasLattice, AgreesWithEveryPageWrittenOut) {
  int possible = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Numbers numbers(seed);
    const SmallCase small(numbers, 1 + numbers.below(4));
    const std::string expression = random_expression(numbers, 3);
    const TokenTrie trie(small.texts, {small.end()});
    const auto automaton = CanvasAutomaton::create(regex_grammar(expression), trie, small.cells.size());
    Automaton judge(regex_grammar(expression));
    const Enumerated wanted = enumerate(judge, small);
    if (!automaton.has_value()) {  // no token of the vocabulary spells such a text
      ASSERT_EQ(automaton.error().kind, ErrorKind::unsatisfiable) << automaton.error().message;
      ASSERT_EQ(wanted.best, kNever) << expression;
      continue;
    }
    const CanvasLattice lattice(*automaton, small.cells);
    ASSERT_EQ(lattice.is_possible(), wanted.best != kNever) << seed << " " << expression;
    const auto missing = lattice.missing_slots();
    ASSERT_EQ(missing == std::optional<std::size_t>(0), lattice.is_possible()) << seed << " " << expression;
    if (!lattice.is_possible()) continue;
    ++possible;
    const std::vector<TokenId> best = lattice.best();
    ASSERT_TRUE(fits(judge, small, best)) << seed;
    double weight = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (small.cells[i].token == kNoToken)
        weight += small.rows[i][static_cast<std::size_t>(best[i])];
      else
        ASSERT_EQ(small.cells[i].token, best[i]);
    }
    ASSERT_NEAR(weight, wanted.best, 1e-9);
    ASSERT_NEAR(lattice.best_log_probability(), wanted.best, 1e-9);
    ASSERT_NEAR(lattice.log_mass(), std::log(wanted.mass), 1e-9);
    for (std::size_t i = 0; i < best.size(); ++i) {
      const auto marginals = lattice.marginals(i);
      for (std::size_t id = 0; id < marginals.size(); ++id) {
        const auto found = wanted.marginals[i].find(static_cast<TokenId>(id));
        const double share = found == wanted.marginals[i].end() ? 0 : found->second / wanted.mass;
        ASSERT_NEAR(std::exp(marginals[id]), share, 1e-9) << seed << " " << i << " " << id;
      }
    }
  }
  EXPECT_GT(possible, 300);
}

// Deciding any cells of one joint page and looking again never ends in a dead end.
TEST(CanvasLattice, DecisionsKeepAPagePossible) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Numbers numbers(seed + 5000);
    SmallCase small(numbers, 6);
    for (CanvasCell& cell : small.cells)
      cell = {kNoToken, small.rows[static_cast<std::size_t>(&cell - small.cells.data())]};
    const std::string expression = random_expression(numbers, 3);
    const TokenTrie trie(small.texts, {small.end()});
    const auto automaton = CanvasAutomaton::create(regex_grammar(expression), trie, 6);
    if (!automaton.has_value()) continue;
    Automaton judge(regex_grammar(expression));
    if (!CanvasLattice(*automaton, small.cells).is_possible()) continue;
    for (int step = 0; step < 8; ++step) {
      const CanvasLattice lattice(*automaton, small.cells);
      ASSERT_TRUE(lattice.is_possible()) << seed << " " << step;
      std::vector<double> draws;
      for (std::size_t i = 0; i < 6; ++i) draws.push_back(numbers.next());
      const auto page = step % 2 == 0 ? lattice.best() : lattice.sample(draws);
      ASSERT_TRUE(fits(judge, small, page)) << seed;
      for (std::size_t i = 0; i < 6; ++i) {  // decide some, open some again
        if (numbers.next() < 0.4)
          small.cells[i].token = page[i];
        else if (numbers.next() < 0.2)
          small.cells[i] = {kNoToken, small.rows[i]};
      }
    }
  }
}

TEST(CanvasLattice, DrawsFollowTheProductGivenValidity) {
  Numbers numbers(3);
  const std::vector<std::string> texts = {"a", "b", "ab", ""};
  const TokenTrie trie(texts, {3});
  const auto automaton = CanvasAutomaton::create(regex_grammar("(?:ab)*a?"), trie, 3).value();
  const std::vector<double> row = {std::log(0.2), std::log(0.3), std::log(0.4), std::log(0.1)};
  const std::vector<CanvasCell> cells(3, CanvasCell{kNoToken, row});
  const CanvasLattice lattice(automaton, cells);
  std::vector<double> counts(4, 0);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const std::vector<double> draws = {numbers.next(), numbers.next(), numbers.next()};
    counts[static_cast<std::size_t>(lattice.sample(draws)[0])] += 1.0 / kDraws;
  }
  const auto marginals = lattice.marginals(0);
  for (std::size_t id = 0; id < 4; ++id) EXPECT_NEAR(counts[id], std::exp(marginals[id]), 0.015) << id;
}

TEST(CanvasLattice, SaysHowManySlotsAreMissing) {
  const std::vector<std::string> texts = {"a", "b", "c", ""};
  const TokenTrie trie(texts, {3});
  const auto automaton = CanvasAutomaton::create(regex_grammar("aaabbb|c"), trie, 8).value();
  const auto missing = [&](std::vector<CanvasCell> cells) { return CanvasLattice(automaton, cells).missing_slots(); };
  EXPECT_EQ(missing({{}, {}}), 0U);  // c and an end token
  EXPECT_EQ(missing({{0}, {}, {1}}), 3U);
  EXPECT_EQ(missing({{0}, {}, {}, {}, {}, {}}), 0U);
  EXPECT_EQ(missing({{}, {2}, {}}), std::nullopt);  // nothing stands before c
  EXPECT_EQ(missing({}), 1U);
}

TEST(CanvasLattice, RecursionIsFollowedToADepth) {
  const std::vector<std::string> texts = {"[", "]", ",", "null", "[[", "]]", ""};
  const TokenTrie trie(texts, {6});
  const auto schema = R"({"type": "array", "items": {"$ref": "#"}})";
  auto grammar = json_schema_grammar(schema, {.space = JsonSpace::compact}).value();
  const auto automaton = CanvasAutomaton::create(std::move(grammar), trie, 9, {.depth = 8}).value();
  EXPECT_TRUE(automaton->is_cut());
  std::vector<CanvasCell> cells(9);
  cells[0].token = 4;
  cells[3].token = 2;
  const CanvasLattice lattice(automaton, cells);
  ASSERT_TRUE(lattice.is_possible());
  std::string text;
  for (const TokenId token : lattice.best()) text += texts[static_cast<std::size_t>(token)];
  Automaton judge(json_schema_grammar(schema, {.space = JsonSpace::compact}).value());
  EXPECT_TRUE(judge.accepts(judge.step(judge.start(), text))) << text;
}

}  // namespace
}  // namespace plm
