#include "constraint/automaton.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "constraint/gbnf_parser.h"
#include "constraint/regex_parser.h"

namespace plm {
namespace {

Automaton automaton_of(std::string_view gbnf, const GbnfOptions& options = {}) {
  auto grammar = parse_gbnf(gbnf, options);
  EXPECT_TRUE(grammar.has_value()) << gbnf << "\n" << grammar.error().message;
  return Automaton(std::move(*grammar));
}

bool accepts(Automaton& automaton, std::string_view text) {
  return automaton.accepts(automaton.step(automaton.start(), text));
}

std::string completed(Automaton& automaton, StateId state) {
  std::string text;
  const auto pieces = automaton.completion(state, 1'000'000);
  EXPECT_TRUE(pieces.has_value());
  for (const Automaton::Piece& piece : *pieces) text += std::get<std::string>(piece);
  return text;
}

// Reads the pieces of a small vocabulary: special ones as tokens, all else byte by byte.
bool accepts_pieces(Automaton& automaton, std::string_view text, const std::map<std::string, TokenId>& special) {
  StateId state = automaton.start();
  while (!text.empty()) {
    StateId next = StateId::dead;
    std::size_t length = 1;
    for (const auto& [piece, id] : special) {
      if (!text.starts_with(piece)) continue;
      next = automaton.step_token(state, id);
      length = piece.size();
    }
    if (length == 1) {  // an ordinary token of one byte
      constexpr TokenId kOrdinary = 1000;
      next = automaton.either(automaton.step(state, text.substr(0, 1)), automaton.step_token(state, kOrdinary));
    }
    state = next;
    text.remove_prefix(length);
  }
  return automaton.accepts(state);
}

TEST(Automaton, GbnfConformance) {
  const std::filesystem::path path = std::filesystem::path(PLM_SHARED) / "conformance/constraint/gbnf.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  std::ifstream file(path);
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const auto json = nlohmann::json::parse(line);
    SCOPED_TRACE(json["id"].get<std::string>());
    const auto text = json["grammar"].get<std::string>();
    std::map<std::string, TokenId> special;
    const auto vocabulary = json.contains("vocab") ? json["vocab"] : nlohmann::json::object();
    for (const auto& [id, piece] : vocabulary.items()) {
      if (piece.get<std::string>().starts_with('<')) special[piece] = std::stoi(id);
    }
    GbnfOptions options;
    options.find_token = [&](std::string_view name) -> std::optional<TokenId> {
      const auto found = special.find(std::string(name));
      return found == special.end() ? std::nullopt : std::optional(found->second);
    };
    options.lenient = json["id"] == "rule-redefinition";
    auto grammar = parse_gbnf(text, options);
    ASSERT_EQ(grammar.has_value(), json["status"] == "ok") << (grammar ? "" : grammar.error().message);
    if (!grammar) {
      const auto kind = json["error_kind"].get<std::string>();
      EXPECT_EQ(kind == "limit", grammar.error().kind == ErrorKind::no_room) << grammar.error().message;
      EXPECT_NE(grammar.error().message.find("line "), std::string::npos) << grammar.error().message;
      continue;
    }
    Automaton automaton(std::move(*grammar));
    if (!json.contains("accept")) continue;
    for (const auto& yes : json["accept"]) {
      EXPECT_TRUE(accepts_pieces(automaton, yes.get<std::string>(), special)) << yes;
    }
    for (const auto& no : json["reject"]) {
      EXPECT_FALSE(accepts_pieces(automaton, no.get<std::string>(), special)) << no;
    }
    EXPECT_FALSE(automaton.failure().has_value());
  }
  EXPECT_EQ(cases, 113);
}

TEST(Automaton, RecursionAtTheEndDoesNotGrowTheStack) {
  Automaton automaton = automaton_of("root ::= \"a\" root | \"b\" more | \"\"\nmore ::= \"c\" root");
  StateId state = automaton.step(automaton.start(), "a");
  const StateId once = state;
  for (int i = 0; i < 10'000; ++i) state = automaton.step(state, "abc");
  EXPECT_EQ(state, automaton.step(once, "bc"));
  EXPECT_LT(automaton.states(), 10U);
}

TEST(Automaton, NestingHasALimitThatIsNamed) {
  GbnfOptions options;
  options.limits.stack_depth = 100;
  Automaton automaton = automaton_of("root ::= \"(\" root \")\" | \"x\"", options);
  EXPECT_TRUE(accepts(automaton, std::string(90, '(') + "x" + std::string(90, ')')));
  (void)automaton.step(automaton.start(), std::string(120, '('));
  ASSERT_TRUE(automaton.failure().has_value());
  EXPECT_NE(automaton.failure()->message.find("100 deep"), std::string::npos);
}

TEST(Automaton, WhatMayBeEmptyCanBeRepeated) {
  Automaton automaton = automaton_of("root ::= (x | y)* (x y?){0,4000} \"!\"\nx ::= \"a\"? \"b\"?\ny ::= x x");
  EXPECT_TRUE(accepts(automaton, "!"));
  EXPECT_TRUE(accepts(automaton, "abaabb!"));
  EXPECT_FALSE(accepts(automaton, "abc!"));
}

TEST(Automaton, CompletionIsShortestAndValid) {
  Automaton automaton = automaton_of(
      "root ::= value\nvalue ::= \"{\" pair (\",\" pair)* \"}\" | \"[\" value{2,3} \"]\" | [0-9]{3,} | \"null\"\n"
      "pair ::= \"\\\"\" [a-z]{2,} \"\\\":\" value");
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    StateId state = automaton.start();
    std::string text;
    for (std::size_t i = 0; i < random() % 60; ++i) {
      const ByteSet next = automaton.next_bytes(state);
      if (next.empty()) break;
      std::uint8_t byte = 0;
      do {
        byte = static_cast<std::uint8_t>(random());
      } while (!next.contains(byte));
      text.push_back(static_cast<char>(byte));
      state = automaton.step(state, byte);
    }
    const std::string end = completed(automaton, state);
    EXPECT_EQ(end.size(), automaton.shortest(state)) << text << " + " << end;
    EXPECT_TRUE(accepts(automaton, text + end)) << text << " + " << end;
    if (const auto forced = automaton.forced_byte(state)) {
      EXPECT_EQ(automaton.next_bytes(state).size(), 1U);
      EXPECT_TRUE(automaton.next_bytes(state).contains(*forced));
    }
  }
}

// Random grammars without recursion are regular: the same language must come out of the expression.
TEST(Automaton, AgreesWithExpressions) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    GrammarBuilder builder;
    std::vector<std::pair<Part, std::string>> pool{{builder.literal("a"), "a"}, {builder.literal("b"), "b"}};
    for (int i = 0; i < 7; ++i) {
      const RuleId rule = builder.declare("r");  // hides that it is regular
      const auto [x, x_text] = pool[random() % pool.size()];
      const auto [y, y_text] = pool[random() % pool.size()];
      Part part = Part::empty;
      std::string text;
      switch (random() % 4) {
        case 0: part = builder.sequence({x, y}), text = x_text + y_text; break;
        case 1: part = builder.choice({x, y}), text = "(?:" + x_text + "|" + y_text + ")"; break;
        case 2: part = builder.repeat(x, 0, kUnbounded), text = "(?:" + x_text + ")*"; break;
        default: part = builder.repeat(x, 1, 3), text = "(?:" + x_text + "){1,3}"; break;
      }
      builder.define(rule,
                     builder.choice({part, builder.token({{7}})}));  // a token literal keeps it out of expressions
      pool.emplace_back(builder.rule(rule), text);
    }
    const RuleId root = builder.declare("root");
    builder.define(root, pool.back().first);
    auto grammar = builder.finish(root);
    ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
    Automaton automaton(std::move(*grammar));
    RegularStore store;
    const auto regular = parse_regex(store, pool.back().second);
    ASSERT_TRUE(regular.has_value());
    for (unsigned code = 0; code < 255; ++code) {
      std::string text;
      for (unsigned bits = code + 1; bits > 1; bits >>= 1U) text += (bits & 1U) != 0 ? 'b' : 'a';
      EXPECT_EQ(accepts(automaton, text), store.matches(*regular, text)) << pool.back().second << " on " << text;
    }
  }
}

}  // namespace
}  // namespace plm
