// Covers src/constraint/grammar.cpp and grammar_finish.cpp; what grammars accept is tested with the automaton.
#include "constraint/grammar.h"

#include <gtest/gtest.h>

#include <string>

namespace plm {
namespace {

TEST(Grammar, EqualPartsAreOne) {
  GrammarBuilder builder;
  const RuleId rule = builder.declare("x");
  const Part a = builder.literal("a"), x = builder.rule(rule);
  EXPECT_EQ(builder.sequence({a, x}), builder.sequence({a, builder.sequence({Part::empty, x})}));
  EXPECT_EQ(builder.choice({x, Part::nothing}), x);
  EXPECT_EQ(builder.sequence({x, Part::nothing}), Part::nothing);
  EXPECT_EQ(builder.repeat(x, 1, 1), x);
  EXPECT_EQ(builder.repeat(Part::nothing, 0, 5), Part::empty);
  EXPECT_EQ(builder.repeat(x, 3, 2), Part::nothing);
  EXPECT_EQ(builder.as_regular(builder.sequence({a, a})), builder.store().literal("aa"));
  EXPECT_EQ(builder.as_regular(builder.choice({a, Part::empty})),
            builder.store().optional(builder.store().literal("a")));
  EXPECT_EQ(builder.as_regular(x), std::nullopt);
}

TEST(Grammar, ShortestTextsAreSettled) {
  GrammarBuilder builder;
  const RuleId root = builder.declare("root"), item = builder.declare("item");
  builder.define(
      root, builder.sequence({builder.literal("["), builder.repeat(builder.rule(item), 2, 9), builder.literal("]")}));
  builder.define(item, builder.choice({builder.rule(root), builder.literal("null")}));
  const auto grammar = builder.finish(root);
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
  EXPECT_EQ(grammar->shortest(grammar->root()), 10U);
}

TEST(Grammar, DeadAlternativesAreTakenOut) {
  GrammarBuilder builder;
  const RuleId root = builder.declare("root"), endless = builder.declare("endless");
  builder.define(endless, builder.sequence({builder.literal("a"), builder.rule(endless)}));
  RegularStore& store = builder.store();
  const Part dead = builder.regular(store.intersect({store.plus(store.literal("ab")), store.star(store.literal("a"))}));
  builder.define(root, builder.choice({builder.literal("ok"), builder.rule(endless), dead}));
  auto grammar = builder.finish(root);
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
  EXPECT_EQ(grammar->node(grammar->root()).kind, Grammar::Kind::regular);

  const RuleId again = builder.declare("root");
  builder.define(again, builder.sequence({builder.literal("a"), builder.rule(again)}));
  const auto none = builder.finish(again);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::unsatisfiable);
}

TEST(Grammar, WhatCannotRunIsRefusedByName) {
  const auto message = [](auto build) {
    GrammarBuilder builder;
    const auto grammar = builder.finish(build(builder));
    return grammar.has_value() ? "" : grammar.error().message;
  };
  EXPECT_NE(message([](GrammarBuilder& b) {
              const RuleId root = b.declare("root"), missing = b.declare("missing");
              b.define(root, b.rule(missing));
              return root;
            }).find("rule 'missing' is used and not defined"),
            std::string::npos);
  const std::string direct = message([](GrammarBuilder& b) {
    const RuleId root = b.declare("root");
    b.define(root, b.choice({b.sequence({b.rule(root), b.literal("a")}), b.literal("a")}));
    return root;
  });
  EXPECT_NE(direct.find("rule 'root' is left-recursive"), std::string::npos) << direct;
  const std::string hidden = message([](GrammarBuilder& b) {
    const RuleId root = b.declare("root"), maybe = b.declare("maybe"), other = b.declare("other");
    b.define(maybe, b.optional(b.rule(other)));
    b.define(other, b.literal("c"));
    b.define(root, b.choice({b.sequence({b.rule(maybe), b.rule(root), b.literal("a")}), b.literal("b")}));
    return root;
  });
  EXPECT_NE(hidden.find("rule 'root' is left-recursive"), std::string::npos) << hidden;
}

TEST(Grammar, SmallRegularRulesAreInlined) {
  GrammarBuilder builder;
  const RuleId root = builder.declare("root"), digit = builder.declare("digit");
  builder.define(root, builder.repeat(builder.rule(digit), 3, 3));
  builder.define(digit, builder.regular(builder.store().bytes(ByteSet::range('0', '9'))));
  auto grammar = builder.finish(root);
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
  const auto node = grammar->node(grammar->root());
  ASSERT_EQ(node.kind, Grammar::Kind::regular);
  EXPECT_TRUE(grammar->regular().matches(static_cast<Regular>(node.first), "123"));
  EXPECT_FALSE(grammar->regular().matches(static_cast<Regular>(node.first), "12"));
}

TEST(Grammar, LimitsAreNamed) {
  GrammarBuilder builder({.grammar_nodes = 50});
  const RuleId root = builder.declare("root");
  std::vector<Part> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(builder.rule(builder.declare(std::to_string(i))));
  builder.define(root, builder.sequence(parts));
  const auto grammar = builder.finish(root);
  ASSERT_FALSE(grammar.has_value());
  EXPECT_EQ(grammar.error().kind, ErrorKind::no_room);
  EXPECT_NE(grammar.error().message.find("50 parts"), std::string::npos);
}

}  // namespace
}  // namespace plm
